# The stand-in for GPUs, and the tests that need it: the backend's very sources, by the C++ compiler. Included by
# the Makefile.

# The stand-in needs NVIDIA's headers, and nothing else of theirs.
FAKE_GPU := $(if $(and $(call cuda_header,cuda_runtime_api.h),$(call cuda_header,cudnn.h),$(call cuda_header,nccl.h),$(if $(CUDA_TOO_OLD),,new)),$(BUILD)/fake_gpu/liblockstep_cuda.so)
FAKE_GPU_SOURCES := $(sort $(wildcard test/fake_gpu/*.cpp))
FAKE_GPU_OBJECTS := $(CUDA_SOURCES:%=$(BUILD)/fake_gpu/%.o) $(FAKE_GPU_SOURCES:%=$(BUILD)/fake_gpu/%.o)
FAKE_GPU_UNIT_SOURCES := $(sort $(wildcard test/fake_gpu/unit/*.c*))
FAKE_GPU_MPI_SOURCES  := $(sort $(wildcard test/fake_gpu/mpi/*.cpp))
FAKE_GPU_TESTS := $(if $(FAKE_GPU),$(FAKE_GPU) $(if $(FAKE_GPU_UNIT_SOURCES),$(BUILD)/test/fake_gpu/tests) \
                    $(if $(FAKE_GPU_MPI_SOURCES),$(BUILD)/test/fake_gpu/mpi_tests) $(BUILD)/fake_gpu/libnvtx_ranges.so)
FAKE_GPU_LDLIBS := -lboost_context
FAKE_GPU_DEPENDENCIES := $(patsubst %,$(BUILD)/fake_gpu/%.d,$(CUDA_SOURCES) $(FAKE_GPU_SOURCES) \
                           $(FAKE_GPU_UNIT_SOURCES) $(FAKE_GPU_MPI_SOURCES))

# Needs none of their headers; found as the driver's library is, by LD_LIBRARY_PATH.
FAKE_NVML := $(BUILD)/fake_gpu/nvml/libnvidia-ml.so.1
TEST_PROGRAMS += $(FAKE_NVML)
$(FAKE_NVML): test/fake_gpu/nvml/nvml.cpp
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CXX) $(filter-out $(SANITIZE),$(ALL_CXXFLAGS)) -fPIC -shared -o $@ $<

$(BUILD)/fake_gpu/libnvtx_ranges.so: test/fake_gpu/nvtx/nvtx.cpp
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CXX) $(CUDA_INCLUDES) $(filter-out $(SANITIZE),$(ALL_CXXFLAGS)) -fPIC -shared -o $@ $<

# The same for the stand-in; .cu files as C++.
FAKE_GPU_CPPFLAGS = -Itest/fake_gpu/include -Itest/fake_gpu -Itest $(CPPFLAGS) $(CUDA_INCLUDES) $(VERSION_FLAGS) $(CUDA_DEFINES) -DLOCKSTEP_FAKE_GPU
$(BUILD)/fake_gpu/%.o: % | libraries
	@mkdir -p $(@D)
	$(call quiet,CXX,$<)$(CXX) $(FAKE_GPU_CPPFLAGS) $(ALL_CXXFLAGS) -fPIC -MMD -MP -x c++ -c -o $@ $<

$(CUDA_SOURCES:%=$(BUILD)/fake_gpu/%.o): ALL_CXXFLAGS += $(FAKE_GPU_COVERAGE)

$(BUILD)/fake_gpu/liblockstep_cuda.so: $(FAKE_GPU_OBJECTS)
	$(call quiet,LINK,$@)$(CXX) $(filter-out -rdynamic,$(ALL_LDFLAGS)) $(FAKE_GPU_COVERAGE) -shared -o $@ $^ $(FAKE_GPU_LDLIBS)

$(BUILD)/test/fake_gpu/tests: $(FAKE_GPU_UNIT_SOURCES:%=$(BUILD)/fake_gpu/%.o) $(FAKE_GPU_OBJECTS) $(BUILD)/liblockstep.a
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) $(FAKE_GPU_COVERAGE) -o $@ $(filter %.o,$^) $(WHOLE_LIBRARY) $(LDLIBS) $(FAKE_GPU_LDLIBS)

$(BUILD)/test/fake_gpu/mpi_tests: $(BUILD)/test/mpi/main.o $(FAKE_GPU_MPI_SOURCES:%=$(BUILD)/fake_gpu/%.o) $(FAKE_GPU_OBJECTS) $(BUILD)/liblockstep.a
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) $(FAKE_GPU_COVERAGE) -o $@ $(filter %.o,$^) $(WHOLE_LIBRARY) $(LDLIBS) $(FAKE_GPU_LDLIBS)

# ---- What the tests of the backend are worth
# What they run. Where the backend is built in another way, the rest is the usual build's.
CUDA_TEST_PROGRAMS = $(BUILD)/lockstep $(addprefix $(BUILD)/test/,unit/tests mpi/main.o training/make_shards) $(FAKE_GPU_TESTS)
COVERAGE_BUILD := build/cuda-coverage
COVERAGE_SHARED := src liblockstep.a lockstep fake_gpu/test test/unit test/training test/mpi
FAKE_GPU_NEEDS = $(if $(FAKE_GPU),:,echo '$@: $(or $(CUDA_TOO_OLD),needs the headers of CUDA$(comma) cuDNN and NCCL (make info))' >&2; false)

.PHONY: cuda-test-programs cuda-coverage mutations
cuda-test-programs: $(CUDA_TEST_PROGRAMS)

cuda-coverage: needed-packages  ## tell which lines of the CUDA backend run in tests that compare results, on the fake GPU
	@$(FAKE_GPU_NEEDS)
	$(AGAIN) cuda-test-programs
	@mkdir -p $(COVERAGE_BUILD)/test $(COVERAGE_BUILD)/fake_gpu
	@set -e; for part in $(COVERAGE_SHARED); do ln -sfn $(abspath $(BUILD))/$$part $(COVERAGE_BUILD)/$$part; done; \
	cp -p $(BUILD)/git-* $(COVERAGE_BUILD)
	$(AGAIN) BUILD=$(COVERAGE_BUILD) FAKE_GPU_COVERAGE='--coverage -fprofile-update=atomic -O1' cuda-test-programs
	@test/fake_gpu/coverage $(COVERAGE_BUILD)

mutations: needed-packages  ## break the CUDA backend in many ways, each of which a test must see; MUTATIONS="dropout|a slice": those whose names match
	@$(FAKE_GPU_NEEDS)
	$(AGAIN) cuda-test-programs
	@IFS='|'; set -f; set -- $$MUTATIONS; BUILD='$(BUILD)' JOBS='$(JOBS)' test/fake_gpu/mutate "$$@"
