# Lockstep. `make help` lists the targets, `make info` what was found. Site answers go into config.mk.
-include config.mk

# ---- Tools ------------------------------------------------------------------------------------------------
CXX        := $(if $(filter default,$(origin CXX)),g++,$(CXX))
PKG_CONFIG ?= pkg-config
PREFIX     ?= /usr/local
DESTDIR    ?=
V          ?= 0
ASAN       ?= 0
UBSAN      ?= 0

# Debian packages that the build, the demo and the tests need; `make packages` installs what is missing.
PACKAGES := g++ pkg-config libopenmpi-dev openmpi-bin libhdf5-openmpi-dev libboost-program-options-dev \
            libdnnl-dev libfmt-dev libxxhash-dev zlib1g-dev catch2 \
            slurmctld slurmd slurm-client munge libpmix2 gnuplot-nox procps dataset-fashion-mnist
LINT_PACKAGES := clang clang-format clang-tidy shellcheck

# ---- What is built how ------------------------------------------------------------------------------------
SANITIZERS := $(strip $(if $(filter 1,$(ASAN)),address) $(if $(filter 1,$(UBSAN)),undefined))
comma := ,
space := $(subst ,, )
SANITIZE := $(if $(SANITIZERS),-fsanitize=$(subst $(space),$(comma),$(SANITIZERS)) -fno-sanitize-recover=all)
BUILD := build$(if $(SANITIZERS),/sanitize-$(subst $(space),-,$(SANITIZERS)))

VERSION := 0.1.0
GIT     := $(shell git describe --always --dirty 2>/dev/null || echo unknown)

LIBRARIES  := hdf5-openmpi fmt libxxhash zlib
WARNINGS   := -Wall -Wextra -Wpedantic -Werror
HDF5_MPI_CFLAGS := $(subst -I,-isystem ,$(shell $(PKG_CONFIG) --cflags $(LIBRARIES) 2>/dev/null))
HDF5_MPI_LIBS   := $(shell $(PKG_CONFIG) --libs $(LIBRARIES) 2>/dev/null)
CPPFLAGS   += -Isrc -DOMPI_SKIP_MPICXX $(HDF5_MPI_CFLAGS)
CXXFLAGS   ?= -O2 -g
ALL_CXXFLAGS := -std=c++20 $(WARNINGS) -fopenmp-simd -pthread $(SANITIZE) $(CXXFLAGS)
LDLIBS     := $(HDF5_MPI_LIBS) -lboost_program_options -ldnnl -lgomp
# Clang's OpenMP needs a runtime of its own: with it our loops run on one thread, oneDNN's on all.
OPENMP     := $(if $(findstring clang,$(CXX)),,-fopenmp)
ALL_LDFLAGS := -pthread -rdynamic $(SANITIZE) $(LDFLAGS)

SOURCES      := $(sort $(wildcard src/*/*.cpp src/*/*/*.cpp))
LIB_SOURCES  := $(filter-out src/cli/main.cpp,$(SOURCES))
LIB_OBJECTS  := $(LIB_SOURCES:%.cpp=$(BUILD)/%.o)
UNIT_OBJECTS := $(patsubst %.cpp,$(BUILD)/%.o,$(sort $(wildcard test/unit/*.cpp)))
MPI_OBJECTS  := $(patsubst %.cpp,$(BUILD)/%.o,$(sort $(wildcard test/mpi/*.cpp)))
FAULT        := $(BUILD)/test/libfault.so
DEPENDENCIES := $(LIB_OBJECTS:.o=.d) $(BUILD)/src/cli/main.d $(UNIT_OBJECTS:.o=.d) $(MPI_OBJECTS:.o=.d) \
                $(BUILD)/test/training/make_shards.d

ifeq ($(V),0)
quiet = @printf '%-5s %s\n' '$(1)' '$(2)';
else
quiet =
endif

# ---- Targets ----------------------------------------------------------------------------------------------
.DEFAULT_GOAL := all
.PHONY: all help info clean install uninstall packages

all: $(BUILD)/lockstep  ## build the program (the default)

help:  ## list the targets
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  variables: PREFIX DESTDIR CXX CXXFLAGS V=1 ASAN=1 UBSAN=1 (or in config.mk)"

$(BUILD)/lockstep: $(BUILD)/src/cli/main.o $(BUILD)/liblockstep.a
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/liblockstep.a: $(LIB_OBJECTS)
	$(call quiet,AR,$@)rm -f $@ && ar rcs $@ $^

$(BUILD)/%.o: %.cpp
	@mkdir -p $(@D)
	$(call quiet,CXX,$<)$(CXX) $(CPPFLAGS) $(ALL_CXXFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/test/unit/tests: $(UNIT_OBJECTS) $(BUILD)/liblockstep.a
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/test/mpi/tests: $(MPI_OBJECTS) $(BUILD)/liblockstep.a
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

# The version is compiled into one file; it is built again when git's description changes.
$(BUILD)/src/cli/version.o: CPPFLAGS += -DLOCKSTEP_VERSION='"$(VERSION)"' -DLOCKSTEP_GIT='"$(GIT)"'
$(BUILD)/src/cli/version.o: $(BUILD)/git-$(subst /,-,$(GIT))
$(BUILD)/git-$(subst /,-,$(GIT)):
	@mkdir -p $(@D) && rm -f $(BUILD)/git-* && touch $@

$(BUILD)/test/training/make_shards: $(BUILD)/test/training/make_shards.o $(BUILD)/liblockstep.a
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

# Preloaded into a process, it lets a chosen call of a chosen rank fail (test/fault/fault.cpp).
$(FAULT): test/fault/fault.cpp
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CXX) $(CPPFLAGS) $(ALL_CXXFLAGS) -fPIC -shared -MMD -MP -o $@ $< -ldl

clean:  ## remove what was built
	rm -rf build

$(BUILD)/src/device/cpu/parallel.o: ALL_CXXFLAGS += $(OPENMP)

-include $(DEPENDENCIES)
