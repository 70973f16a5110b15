#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include "device_under_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <ostream>

#include "core/error.h"
#include "core/hash.h"
#include "core/philox.h"
#include "device/cpu/cpu_device.h"
#include "device/cuda_library.h"

namespace lockstep::test {

using device::CpuDevice;
using device::Device;
using device::DType;
using device::Shape;
using device::Tensor;

const std::vector<Gap>& gaps() {
  static const std::vector<Gap> list{};
  return list;
}

namespace {

// One for the process: a GPU's memory is taken whole when it is opened.
std::shared_ptr<Device>& opened_cuda() {
  static std::shared_ptr<Device> device;
  return device;
}

// Closes it while the libraries that it needs are still at work, which they may not be when statics go.
struct CloseCuda : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  void testRunEnded(const Catch::TestRunStats&) override { opened_cuda().reset(); }
};
CATCH_REGISTER_LISTENER(CloseCuda)

std::shared_ptr<Device> cuda_device() {
  if (opened_cuda()) return opened_cuda();
  const char* library_path = std::getenv("LOCKSTEP_CUDA_LIBRARY");
  if (library_path == nullptr || *library_path == '\0') return nullptr;
  const device::CudaLibrary library;
  std::string reason;
  if (library.backend().gpus(reason).empty()) {
    throw Error(ExitCode::bad_config, "LOCKSTEP_CUDA_LIBRARY is set, and there is no GPU: " + reason);
  }
  opened_cuda() = library.backend().open(0, 0.9);
  return opened_cuda();
}

bool is_gap(const Device& device, std::string_view operation, DType dtype) {
  return std::any_of(gaps().begin(), gaps().end(), [&](const Gap& gap) {
    return gap.kind == device.kind() && gap.dtype == dtype &&
           (gap.operation.empty() || gap.operation == operation);
  });
}

std::vector<Trial> trials_in(std::string_view operation, const std::vector<DType>& dtypes) {
  std::vector<std::pair<std::string, std::shared_ptr<Device>>> devices{
      {"cpu, 1 thread", std::make_shared<CpuDevice>(1)}, {"cpu, 2 threads", std::make_shared<CpuDevice>(2)}};
  if (std::shared_ptr<Device> cuda = cuda_device()) devices.emplace_back("cuda", std::move(cuda));
  std::vector<Trial> result;
  for (const auto& [name, device] : devices) {
    for (const DType dtype : dtypes) {
      if (is_gap(*device, operation, dtype)) continue;
      result.push_back({fmt::format("{} on {}, {}", operation, name, name_of(dtype)), device, dtype});
    }
  }
  return result;
}

// Of the significand, with the hidden bit; smallest exponent of a normal number; largest finite number.
struct Format {
  int digits;
  int least_exponent;
  double largest;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return {24, -126, static_cast<double>(std::numeric_limits<float>::max())};
    case DType::bf16:
      return {8, -126, 0x1.FEp127};
    case DType::f16:
      return {11, -14, 65504.};
    default:
      throw Error(ExitCode::internal, fmt::format("values cannot be {}", name_of(dtype)));
  }
}

// The distance between neighbours of the type at this value.
double unit_at(double value, const Format& format) {
  const int exponent =
      value == 0. ? format.least_exponent : std::max(std::ilogb(value), format.least_exponent);
  return std::ldexp(1., exponent - format.digits + 1);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Trial& trial) {
  return out << trial.name;
}

std::vector<Trial> trials(std::string_view operation) {
  return trials_in(operation, {DType::f32, DType::bf16, DType::f16});
}

std::vector<Trial> f32_trials(std::string_view operation) {
  return trials_in(operation, {DType::f32});
}

std::vector<std::shared_ptr<Device>> devices() {
  std::vector<std::shared_ptr<Device>> result{std::make_shared<CpuDevice>()};
  if (std::shared_ptr<Device> cuda = cuda_device()) result.push_back(std::move(cuda));
  return result;
}

float rounded(float value, DType dtype) {
  if (!std::isfinite(value)) return value;
  const Format format = format_of(dtype);
  const double unit = unit_at(static_cast<double>(value), format);
  const double nearest = std::nearbyint(static_cast<double>(value) / unit) * unit;
  if (std::abs(nearest) > format.largest) return std::copysign(std::numeric_limits<float>::infinity(), value);
  return static_cast<float>(nearest);
}

Values values_of(const Shape& shape, DType dtype, std::vector<float> host) {
  std::transform(host.begin(), host.end(), host.begin(), [=](float value) { return rounded(value, dtype); });
  return {shape, dtype, std::move(host)};
}

Values random_values(const Shape& shape, DType dtype, std::uint64_t stream, float scale) {
  PhiloxStream random(0, Purpose::init, stream);
  std::vector<float> host(static_cast<std::size_t>(shape.count()));
  std::generate(host.begin(), host.end(), [&] { return (2.f * to_unit_float(random.next()) - 1.f) * scale; });
  return values_of(shape, dtype, std::move(host));
}

std::vector<std::int64_t> random_labels(std::int64_t count, std::int64_t classes, std::uint64_t stream) {
  PhiloxStream random(1, Purpose::init, stream);
  std::vector<std::int64_t> labels(static_cast<std::size_t>(count));
  std::generate(labels.begin(), labels.end(),
                [&] { return static_cast<std::int64_t>(random.below(static_cast<std::uint32_t>(classes))); });
  return labels;
}

Tensor in_f32(Device& device, const Values& values) {
  const Tensor tensor = device.empty(values.shape);
  device.upload(values.host, tensor);
  return tensor;
}

Tensor on_device(Device& device, const Values& values) {
  const Tensor tensor = in_f32(device, values);
  if (values.dtype == DType::f32) return tensor;
  const Tensor narrow = device.empty(values.shape, values.dtype);
  device.cast(tensor, narrow);
  return narrow;
}

Tensor unwritten(Device& device, const Shape& shape, DType dtype) {
  const auto count = static_cast<std::size_t>(shape.count());
  return on_device(device,
                   {shape, dtype, std::vector<float>(count, std::numeric_limits<float>::quiet_NaN())});
}

std::vector<float> from_device(Device& device, const Tensor& tensor) {
  std::vector<float> host(static_cast<std::size_t>(tensor.count()));
  if (tensor.dtype() == DType::f32) {
    device.download(tensor, host);
  } else {
    const Tensor wide = device.empty(tensor.shape());
    device.cast(tensor, wide);
    device.download(wide, host);
  }
  return host;
}

std::vector<double> from_device_f64(Device& device, const Tensor& tensor) {
  std::vector<double> host(static_cast<std::size_t>(tensor.count()));
  device.download(tensor, std::span<double>(host));
  return host;
}

void check_near(const std::vector<float>& got, const std::vector<float>& wanted, const Nearness& nearness) {
  REQUIRE(got.size() == wanted.size());
  REQUIRE((nearness.magnitudes.empty() || nearness.magnitudes.size() == wanted.size()));
  const Format format = format_of(nearness.dtype);
  for (std::size_t i = 0; i < got.size(); ++i) {
    // A reference that the type cannot hold: what it becomes there counts.
    const double here = got[i], there = static_cast<double>(wanted[i]);
    const double held = static_cast<double>(rounded(wanted[i], nearness.dtype));
    if (here == held || here == there || (std::isnan(here) && std::isnan(there))) continue;
    const double magnitude =
        nearness.magnitudes.empty() ? std::abs(there) : static_cast<double>(nearness.magnitudes[i]);
    const double tolerance =
        0.5 * unit_at(there, format) + 2. * static_cast<double>(nearness.terms) * 0x1p-24 * magnitude;
    if (std::abs(here - there) <= tolerance) continue;
    FAIL("element " << i << " of " << got.size() << ": " << here << ", wanted " << there << " +- "
                    << tolerance);
  }
  SUCCEED();
}

void write_bits(const Trial& trial, const std::vector<float>& values) {
  const char* path = std::getenv("LOCKSTEP_OP_BITS");
  if (path == nullptr || trial.device->kind() == "cpu") return;
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  std::ofstream out(path, std::ios::app);
  out << fmt::format("{}: {}: {} values, {:016x}\n", Catch::getResultCapture().getCurrentTestName(),
                     trial.name, values.size(), hash64(bytes));
}

std::vector<float> repeated(const Trial& trial, const std::function<std::vector<float>()>& run) {
  std::vector<float> first = run();
  const std::vector<float> second = run();
  REQUIRE(first.size() == second.size());
  CHECK(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)) == 0);
  write_bits(trial, first);
  return first;
}

}  // namespace lockstep::test
