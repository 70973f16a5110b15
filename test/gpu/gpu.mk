# What only a machine with a GPU can show. Included by the Makefile.

.PHONY: gpu-check gpu-bundle
gpu-check:  ## on a machine with a GPU: all that only a GPU can show, as a report, in 8 minutes (docs/gpu.md)
	@test/gpu/check

gpu-bundle: needed-packages  ## gather in build/gpu-bundle.tar.gz what gpu-check needs on machines without MPI, HDF5, oneDNN
	$(AGAIN) $(BUILD)/lockstep $(BUILD)/test/unit/tests $(BUILD)/test/training/make_shards
	@BUILD=$(BUILD) test/gpu/bundle

# The checks of operations that it builds for GPUs (test/gpu/build_ops), on the stand-in.
GPU_OPS_SOURCES := $(sort $(wildcard test/gpu/ops/*.cpp))
FAKE_GPU_TESTS += $(if $(FAKE_GPU),$(BUILD)/test/fake_gpu/ops)
FAKE_GPU_DEPENDENCIES += $(GPU_OPS_SOURCES:%=$(BUILD)/fake_gpu/%.d)

$(BUILD)/test/fake_gpu/ops: $(GPU_OPS_SOURCES:%=$(BUILD)/fake_gpu/%.o) $(FAKE_GPU_OBJECTS) $(BUILD)/liblockstep.a
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) $(FAKE_GPU_COVERAGE) -o $@ $(filter %.o,$^) $(WHOLE_LIBRARY) $(LDLIBS) $(FAKE_GPU_LDLIBS)

# NCCL's communicator between GPUs: the tests of the stand-in's that inject no faults.
GPU_MPI_OBJECTS := $(patsubst %,$(BUILD)/cuda/%.o,$(filter-out %/nccl_faults.cpp,$(FAKE_GPU_MPI_SOURCES)))
$(GPU_MPI_OBJECTS): CPPFLAGS += -Itest
$(BUILD)/test/gpu/mpi_tests: $(BUILD)/test/mpi/main.o $(GPU_MPI_OBJECTS) $(CUDA_OBJECTS) $(BUILD)/liblockstep.a
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(WHOLE_LIBRARY) $(LDLIBS) $(CUDA_LDLIBS)
