# The CUDA backend: what it is built from and how. Included by the Makefile.

# Where one of the headers of CUDA's companions is.
cuda_header = $(firstword $(wildcard $(addsuffix /include/$(1),$(CUDNN_HOME) $(NCCL_HOME) $(CUDA_HOME))) \
                $(wildcard /usr/include/$(1) /usr/include/x86_64-linux-gnu/$(1)))

# The CUDA backend: built where nvcc, cuDNN and NCCL are found and new enough, left out with CUDA=0.
CUDA_HOME  ?= $(or $(CUDA_PATH),/usr/local/cuda)
NCCL_HOME  ?=
CUDNN_HOME ?=
CUDA_TOO_OLD := $(shell test/setup/cuda-versions $(foreach header,cuda_runtime_api.h cudnn_version.h nccl.h,'$(call cuda_header,$(header))'))
CUDA_MISSING := $(or $(if $(wildcard $(CUDA_HOME)/bin/nvcc),,no $(CUDA_HOME)/bin/nvcc; set CUDA_HOME), \
                  $(if $(call cuda_header,cudnn.h),,no cudnn.h; set CUDNN_HOME), \
                  $(if $(call cuda_header,nccl.h),,no nccl.h; set NCCL_HOME),$(CUDA_TOO_OLD))
CUDA         ?= $(if $(CUDA_MISSING),0,1)
# Machine code for these, and PTX of the last for what comes after.
CUDA_ARCHS ?= 80 90 100

CUDA_LIBRARY := $(if $(filter 1,$(CUDA)),$(BUILD)/liblockstep_cuda.so)
# With the proof that nothing is missing in it.
CUDA_CHECKED := $(if $(CUDA_LIBRARY),$(CUDA_LIBRARY) $(BUILD)/cuda/lockstep-linked)
CUDA_OBJECTS := $(CUDA_SOURCES:%=$(BUILD)/cuda/%.o)
CUDA_DEPENDENCIES := $(CUDA_OBJECTS:.o=.d)
CUDA_INCLUDES := $(addprefix -isystem ,$(wildcard $(addsuffix /include,$(CUDNN_HOME) $(NCCL_HOME) $(CUDA_HOME))))
CUDA_LDLIBS  := $(foreach place,$(CUDNN_HOME) $(NCCL_HOME) $(CUDA_HOME),$(addprefix -L,$(wildcard $(place)/lib64 $(place)/lib)) \
                  $(addprefix -Wl$(comma)-rpath$(comma),$(wildcard $(place)/lib64 $(place)/lib))) -lcudart -lcublasLt -lcudnn -lnccl
CUDA_DEFINES := -DLOCKSTEP_CUDA_ARCHS='"$(CUDA_ARCHS)"'
NVCC         := $(CUDA_HOME)/bin/nvcc
NVCC_FLAGS   := --threads 0 -std=c++20 -O3 -lineinfo -ccbin $(lastword $(CXX)) -Werror all-warnings -Xcompiler -Wall,-Wextra,-fPIC \
                $(foreach arch,$(CUDA_ARCHS),-gencode arch=compute_$(arch)$(comma)code=sm_$(arch)) \
                -gencode arch=compute_$(lastword $(CUDA_ARCHS))$(comma)code=compute_$(lastword $(CUDA_ARCHS))

.PHONY: cuda-note cuda-check
cuda-note:
	@echo 'CUDA  left out: $(or $(CUDA_MISSING),CUDA=$(CUDA))'

cuda-check: needed-packages  ## build the CUDA backend by nvcc, warnings as errors, and link it with NVIDIA's own libraries
	@$(if $(CUDA_LIBRARY),:,echo 'cuda-check: $(or $(CUDA_MISSING),CUDA=$(CUDA))' >&2; false)
	$(AGAIN) $(CUDA_CHECKED)
	@echo "1 passed, 0 failed: $(words $(CUDA_SOURCES)) sources for $(CUDA_ARCHS), nothing is undefined"

# The CUDA backend. What it lacks it finds in the program that loads it.
$(BUILD)/liblockstep_cuda.so: $(CUDA_OBJECTS)
	$(call quiet,LINK,$@)$(CXX) $(filter-out -rdynamic,$(ALL_LDFLAGS)) -shared -o $@ $^ $(CUDA_LDLIBS)

$(BUILD)/cuda/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(call quiet,NVCC,$<)$(NVCC) -Isrc $(NVCC_FLAGS) -MD -MF $(@:.o=.d) -c -o $@ $<

$(BUILD)/cuda/%.cpp.o: %.cpp | libraries
	@mkdir -p $(@D)
	$(call quiet,CXX,$<)$(CXX) $(CPPFLAGS) $(CUDA_INCLUDES) $(VERSION_FLAGS) $(CUDA_DEFINES) $(ALL_CXXFLAGS) -fPIC -MMD -MP -c -o $@ $<

# Program and backend in one, for the linker to tell what is missing.
$(BUILD)/cuda/lockstep-linked: $(BUILD)/src/cli/main.o $(CUDA_OBJECTS) $(BUILD)/liblockstep.a
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) -Wl,-z,defs -o $@ $(filter %.o,$^) $(WHOLE_LIBRARY) $(LDLIBS) $(CUDA_LDLIBS)
