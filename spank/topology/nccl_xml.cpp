#include "topology/nccl_xml.h"

#include <fmt/format.h>

#include <cstdlib>

#include "step/clean_text.h"
#include "topology/tag_reader.h"

namespace lockstep::spank {

namespace {

// The rules are those of NCCL 2.30 (src/graph/xml.cc and topo.cc), compared verdict by verdict with its own
// reader.

// NCCL_TOPO_XML_MAX_NODES is 256; NCCL gives up when the table is full, even if nothing follows.
constexpr int max_elements = 255;

// What NCCL looks for inside an element; it passes over all else.
bool is_known_child(std::string_view parent, std::string_view child) {
  if (parent == "system") return child == "cpu";
  if (parent == "cpu") return child == "pci" || child == "nic";
  if (parent == "pci") return child == "pci" || child == "gpu" || child == "nic" || child == "pcilink";
  if (parent == "gpu") return child == "nvlink" || child == "c2c";
  if (parent == "nic") return child == "net";
  return false;
}

class Loader {
 public:
  explicit Loader(std::string_view text) : reader_(text) {}

  // The first <system>, if there is one. Throws TagError.
  std::optional<XmlNode> load() {
    std::optional<XmlNode> system;
    while (const std::optional<Tag> tag = next()) {
      if (tag->name != "system") {
        pass_over(*tag);
        continue;
      }
      if (tag->kind == Tag::Kind::close) reader_.fail("</system> without <system>");
      XmlNode node = take(*tag);
      check_version(node);
      if (tag->kind == Tag::Kind::open) load_children(node);
      if (!system) system = std::move(node);
    }
    return system;
  }

  // The first element that was passed over; empty: none.
  const std::string& passed_over() const { return passed_over_; }

 private:
  std::optional<Tag> next() {
    if (elements_ > max_elements) reader_.fail(fmt::format("more than {} elements", max_elements));
    return reader_.next();
  }

  XmlNode take(const Tag& tag) {
    ++elements_;
    return XmlNode{tag.name, tag.attributes, {}, tag.line};
  }

  void check_version(const XmlNode& system) const {
    const std::string* version = system.attribute("version");
    if (version == nullptr) reader_.fail("<system> has no version; write <system version=\"1\">");
    // NCCL takes the number as strtol(3) does, and what follows it is not looked at.
    if (static_cast<int>(std::strtol(version->c_str(), nullptr, 0)) != 1) {
      reader_.fail(fmt::format("version \"{}\", but NCCL reads version 1 alone", *version));
    }
  }

  // As deep as there are elements, at most 255.
  void load_children(XmlNode& parent) {
    for (;;) {
      const std::optional<Tag> tag = next();
      if (!tag) reader_.fail(fmt::format("<{}> of line {} is not closed", parent.name, parent.line));
      if (tag->kind == Tag::Kind::close) {
        if (tag->name == parent.name) return;
        reader_.fail(fmt::format("</{}> closes <{}> of line {}", tag->name, parent.name, parent.line));
      }
      if (!is_known_child(parent.name, tag->name)) {
        pass_over(*tag);
        continue;
      }
      XmlNode& child = parent.children.emplace_back(take(*tag));
      if (tag->kind == Tag::Kind::open) load_children(child);
    }
  }

  // Inside an element that it does not know NCCL counts tags, and does not compare their names.
  void pass_over(const Tag& tag) {
    if (passed_over_.empty()) passed_over_ = fmt::format("<{}> in line {}", tag.name, tag.line);
    if (tag.kind == Tag::Kind::single) return;
    for (int depth = 1; depth > 0;) {
      const std::optional<Tag> inner = reader_.next();
      if (!inner) reader_.fail(fmt::format("<{}> of line {} is not closed", tag.name, tag.line));
      if (inner->kind == Tag::Kind::open) ++depth;
      if (inner->kind == Tag::Kind::close) --depth;
    }
  }

  TagReader reader_;
  int elements_ = 0;
  std::string passed_over_;
};

// NCCL's reader takes such a file; ncclCommInit fails later, when a GPU or NIC is below that element.
std::string missing_attribute(const XmlNode& node) {
  for (const XmlNode& child : node.children) {
    const char* needed = child.name == "cpu" ? "numaid" : child.name == "pci" ? "busid" : nullptr;
    if (needed != nullptr && child.attribute(needed) == nullptr) {
      return fmt::format("line {}: <{}> has no {}", child.line, child.name, needed);
    }
    if (std::string inner = missing_attribute(child); !inner.empty()) return inner;
  }
  return {};
}

TopologyFile refused(TopologyFile::Verdict verdict, std::string_view reason) {
  return TopologyFile{verdict, clean_text(reason), std::nullopt};
}

}  // namespace

const std::string* XmlNode::attribute(std::string_view key) const {
  for (const auto& [name, value] : attributes) {
    if (name == key) return &value;
  }
  return nullptr;
}

TopologyFile parse_topology(std::string_view text) {
  using Verdict = TopologyFile::Verdict;
  if (text.size() > max_topology_bytes)
    return refused(Verdict::fatal, "more than 4 MiB, which no topology file has");
  Loader loader(text);
  std::optional<XmlNode> system;
  try {
    system = loader.load();
  } catch (const TagError& error) {
    return refused(Verdict::fatal, error.what());
  }
  const std::string passed_over =
      loader.passed_over().empty() ? "" : fmt::format("; {} is passed over", loader.passed_over());
  if (!system) return refused(Verdict::ignored, "no <system> in it" + passed_over);
  if (system->children.empty()) {
    return refused(Verdict::ignored,
                   fmt::format("line {}: no <cpu> in <system>{}", system->line, passed_over));
  }
  if (std::string missing = missing_attribute(*system); !missing.empty()) {
    return refused(Verdict::fatal, std::move(missing));
  }
  return TopologyFile{Verdict::loaded, {}, std::move(system)};
}

}  // namespace lockstep::spank
