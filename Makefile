# Lockstep. `make help` lists the targets, `make info` what was found. Site answers go into config.mk.
-include config.mk

# ---- Tools ------------------------------------------------------------------------------------------------
CXX        := $(if $(filter default,$(origin CXX)),g++,$(CXX))
PKG_CONFIG ?= pkg-config
PREFIX     ?= /usr/local
DESTDIR    ?=
# The plugin is built for the Slurm whose headers are found here, and installed there.
SLURM_INCLUDE    ?= /usr/include
GIVEN_PLUGIN_DIR := $(SLURM_PLUGIN_DIR)
SLURM_PLUGIN_DIR ?= $(PREFIX)/lib/slurm
V          ?= 0
ASAN       ?= 0
UBSAN      ?= 0
JOBS       ?= $(shell nproc 2>/dev/null || echo 2)
SUITES     ?=

# Debian packages that the build, the demo and the tests need: test/setup/packages installs what is missing.
PACKAGES := g++ pkg-config libopenmpi-dev openmpi-bin libhdf5-openmpi-dev libboost-program-options-dev \
            libdnnl-dev libfmt-dev libxxhash-dev zlib1g-dev catch2 \
            slurmctld slurmd slurm-client munge libpmix2 gnuplot-nox procps util-linux iproute2 hdf5-tools \
            dataset-fashion-mnist libboost-context-dev
# Headers of the Slurm that is installed: the plugin is built for it, and left out where there are none.
PACKAGES += libslurm-dev
# A real client of the plugin, which brings hundreds of megabytes along: only for the suite that runs it, which is
# skipped without it.
OPTIONAL_PACKAGES := $(if $(if $(SUITES),$(filter plugin,$(SUITES)),all),python3-torch)
LINT_PACKAGES := clang clang-format clang-tidy shellcheck

# ---- What is built how ------------------------------------------------------------------------------------
SANITIZERS := $(strip $(if $(filter 1,$(ASAN)),address) $(if $(filter 1,$(UBSAN)),undefined))
comma := ,
space := $(subst ,, )
# g++ 12 sees uninitialised values in its own <regex> (by way of Catch2) when it instruments it.
SANITIZE := $(if $(SANITIZERS),-fsanitize=$(subst $(space),$(comma),$(SANITIZERS)) -fno-sanitize-recover=all \
            $(if $(findstring clang,$(CXX)),,-Wno-maybe-uninitialized))
BUILD := build$(if $(SANITIZERS),/sanitize-$(subst $(space),-,$(SANITIZERS)))
ASAN_BUILD := build/sanitize-address-undefined

VERSION := 0.1.0
GIT     := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
VERSION_FLAGS := -DLOCKSTEP_VERSION='"$(VERSION)"' -DLOCKSTEP_GIT='"$(GIT)"'

LIBRARIES  := hdf5-openmpi fmt libxxhash zlib
WARNINGS   := -Wall -Wextra -Wpedantic -Werror
HDF5_MPI_CFLAGS := $(subst -I,-isystem ,$(shell $(PKG_CONFIG) --cflags $(LIBRARIES) 2>/dev/null))
HDF5_MPI_LIBS   := $(shell $(PKG_CONFIG) --libs $(LIBRARIES) 2>/dev/null)
CPPFLAGS   += -Isrc -DOMPI_SKIP_MPICXX $(HDF5_MPI_CFLAGS)
CXXFLAGS   ?= -O2 -g
ALL_CXXFLAGS := -std=c++20 $(WARNINGS) -fopenmp-simd -pthread $(SANITIZE) $(CXXFLAGS)
LDLIBS     := $(HDF5_MPI_LIBS) -lboost_program_options -ldnnl -lgomp -ldl
# All of the program's code, also what only the CUDA backend calls: it takes it from the program that loads it.
WHOLE_LIBRARY = -Wl,--whole-archive $(BUILD)/liblockstep.a -Wl,--no-whole-archive
# Clang's OpenMP needs a runtime of its own: with it our loops run on one thread, oneDNN's on all.
OPENMP     := $(if $(findstring clang,$(CXX)),,-fopenmp)
ALL_LDFLAGS := -pthread -rdynamic $(SANITIZE) $(LDFLAGS)

CUDA_SOURCES := $(sort $(wildcard $(addsuffix /*.c*,src/device/cuda src/comm/nccl)))
SOURCES      := $(filter-out $(CUDA_SOURCES),$(sort $(wildcard src/*/*.cpp src/*/*/*.cpp)))
LIB_SOURCES  := $(filter-out src/cli/main.cpp,$(SOURCES))
LIB_OBJECTS  := $(LIB_SOURCES:%.cpp=$(BUILD)/%.o)
UNIT_OBJECTS := $(patsubst %.cpp,$(BUILD)/%.o,$(sort $(wildcard test/unit/*.cpp)))
MPI_OBJECTS  := $(patsubst %.cpp,$(BUILD)/%.o,$(sort $(wildcard test/mpi/*.cpp)))
FAULT        := $(BUILD)/test/libfault.so
TEST_PROGRAMS := $(addprefix $(BUILD)/test/,unit/tests mpi/tests training/make_shards training/make_planted \
                   training/flip_bit libfault.so)
include src/device/cuda/cuda.mk test/fake_gpu/fake_gpu.mk test/gpu/gpu.mk
# The SPANK plugin and the command nccl-setup share a core that knows no Slurm. It is loaded into Slurm's own
# processes: nothing of the site's libraries but libc, and no symbol of ours but the plugin's.
SETUP_SOURCES := $(sort $(wildcard $(foreach part,step machine site topology plan,spank/$(part)/*.cpp))) \
                 $(addprefix src/core/,cpu_set.cpp text.cpp hash.cpp files.cpp subprocess.cpp) spank/fmt/compiled.cpp
SETUP_OBJECTS := $(SETUP_SOURCES:%.cpp=$(BUILD)/pic/%.o)
PLUGIN_SOURCES := $(sort $(wildcard spank/plugin/*.cpp))
COMMAND_SOURCES := $(sort $(wildcard spank/command/*.cpp))
SPANK_TEST_OBJECTS := $(patsubst %.cpp,$(BUILD)/pic/%.o,$(sort $(wildcard test/spank/*.cpp)))
include test/fuzz/fuzz.mk
PLUGIN  := $(if $(wildcard $(SLURM_INCLUDE)/slurm/spank.h),$(BUILD)/spank_lockstep.so)
SPANK_PROGRAMS := $(BUILD)/nccl-setup $(PLUGIN)
# The same plugin with faults on demand (spank/plugin/faults.h).
FAULTY_PLUGIN := $(if $(PLUGIN),$(BUILD)/test/spank_lockstep_fault.so)
SPANK_TESTS := $(BUILD)/test/spank/tests $(BUILD)/test/spank/make_node $(FAULTY_PLUGIN) \
               $(FUZZ_TARGETS:%=$(BUILD)/test/fuzz/%) $(TRAINER_FUZZ_TARGETS:%=$(BUILD)/test/fuzz/%)
DEPENDENCIES := $(patsubst %.cpp,$(BUILD)/pic/%.d,$(SETUP_SOURCES) $(PLUGIN_SOURCES) $(COMMAND_SOURCES) \
                  $(wildcard test/spank/*.cpp test/spank/*/*.cpp test/fuzz/*.cpp)) \
                $(PLUGIN_SOURCES:%.cpp=$(BUILD)/pic-fault/%.d) \
                $(LIB_OBJECTS:.o=.d) $(BUILD)/src/cli/main.d $(UNIT_OBJECTS:.o=.d) $(MPI_OBJECTS:.o=.d) \
                $(patsubst %,$(BUILD)/test/training/%.d,make_shards make_planted flip_bit) \
                $(BUILD)/test/bench/allreduce.d $(CUDA_DEPENDENCIES) $(FAKE_GPU_DEPENDENCIES) \
                $(patsubst %,$(BUILD)/test/fuzz/%.d,driver dictionary $(TRAINER_FUZZ_TARGETS))

# What `make install` copies beside the program, each at the same path below its folder.
SHARED := $(wildcard sbatch/* datasets/*/*)
PROFILES := $(notdir $(wildcard spank/profiles/*))
DOCS   := $(wildcard LICENSE *.md docs/*)
BINDIR   = $(DESTDIR)$(PREFIX)/bin
SHAREDIR = $(DESTDIR)$(PREFIX)/share/lockstep
DOCDIR   = $(DESTDIR)$(PREFIX)/share/doc/lockstep
PLUGIN_PLACE = $(SLURM_PLUGIN_DIR)/spank_lockstep.so
CUDA_PLACE   = $(PREFIX)/lib/lockstep/liblockstep_cuda.so
# Debug information of the plugin and nccl-setup is not installed; STRIP= leaves it in.
STRIP ?= -s

ifeq ($(V),0)
quiet = @printf '%-5s %s\n' '$(1)' '$(2)';
else
quiet =
endif

# Packages that have just been installed are seen by a second make only: this one has asked pkg-config already.
AGAIN = +@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))

# ---- Targets ----------------------------------------------------------------------------------------------
.DEFAULT_GOAL := all
.PHONY: docs all help info packages needed-packages lint-packages libraries programs spank stage test demo bench
.PHONY: asan reliability soak
.PHONY: bench-launch bench-comm bench-steps lint tidy sanitize install install-spank copy-spank uninstall deb clean
.DELETE_ON_ERROR:
# Objects of one program alone are kept as well: the next build needs them.
.SECONDARY:

all: $(BUILD)/lockstep $(CUDA_LIBRARY) $(SPANK_PROGRAMS) | $(if $(CUDA_LIBRARY),,cuda-note)  ## build the program, the SPANK plugin and nccl-setup (the default)

help:  ## list the targets
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(filter Makefile %.mk,$(MAKEFILE_LIST))
	@echo "  variables: PREFIX DESTDIR CXX CXXFLAGS BUILD JOBS V=1 ASAN=1 UBSAN=1 SLURM_INCLUDE"
	@echo "             CUDA=0 CUDA_HOME CUDNN_HOME NCCL_HOME CUDA_ARCHS=\"80 90\""
	@echo "             SLURM_PLUGIN_DIR (or in config.mk);"
	@echo "             make test SUITES=\"unit mpi\" runs only these"

info:  ## tell compiler, flags, and which libraries and programs are found
	@CXX='$(CXX)' PKG_CONFIG='$(PKG_CONFIG)' FLAGS='$(CPPFLAGS) $(ALL_CXXFLAGS)' LIBS='$(LDLIBS)' \
	  CUDA='$(CUDA_LIBRARY)' CUDA_HOME='$(CUDA_HOME)' CUDA_ARCHS='$(CUDA_ARCHS)' CUDA_MISSING='$(or $(CUDA_MISSING),CUDA=$(CUDA))' \
	  CUDNN_HEADER='$(call cuda_header,cudnn.h)' NCCL_HEADER='$(call cuda_header,nccl.h)' \
	  SLURM_INCLUDE='$(SLURM_INCLUDE)' test/setup/info $(wildcard config.mk)

packages: needed-packages  ## install what is missing of Debian's packages (as root), or say what is missing
	@test/setup/packages --optional $(OPTIONAL_PACKAGES)

needed-packages:
	@test/setup/packages $(PACKAGES)

lint-packages:
	@test/setup/packages $(PACKAGES) $(LINT_PACKAGES)

test: packages  ## install what is missing, build, run all tests
	$(AGAIN) programs stage $(if $(SANITIZERS),,$(CUDA_CHECKED))
	@BUILD=$(BUILD) test/run $(SUITES)

docs: $(BUILD)/lockstep  ## write docs/configuration.md from the program's own table of keys
	@$(BUILD)/lockstep train --reference >docs/configuration.md.new && mv docs/configuration.md.new docs/configuration.md

demo: needed-packages  ## install what is missing, build, show a preempted run on a Slurm cluster on this machine
	$(AGAIN) stage
	@test/demo/run $(BUILD)/stage

bench: needed-packages  ## train the demo's network in Lockstep and in PyTorch DDP by turns; needs TORCH_PYTHON=
	$(AGAIN) $(BUILD)/lockstep
	@BUILD=$(BUILD) test/bench/training

bench-launch: needed-packages  ## measure what the SPANK plugin adds to an empty srun (as root)
	$(AGAIN) $(BUILD)/spank_lockstep.so
	@BUILD=$(BUILD) test/bench/launch

bench-comm: needed-packages  ## sum 100 MiB over nodes: Lockstep, MPI_Allreduce, PyTorch's gloo (as root; TORCH_PYTHON=)
	$(AGAIN) $(BUILD)/test/bench/allreduce
	@BUILD=$(BUILD) test/bench/communication

bench-steps: needed-packages  ## time steps over networks: fast and exact mode, PyTorch DDP (as root; TORCH_PYTHON=)
	$(AGAIN) $(BUILD)/lockstep
	@BUILD=$(BUILD) test/bench/steps

lint: lint-packages  ## formatting, clang-tidy, shellcheck, direction of dependencies
	$(AGAIN) lint-checks

sanitize: needed-packages  ## build with ASan and UBSan, run the unit, plugin core, MPI and fake GPU tests
	$(AGAIN) ASAN=1 UBSAN=1 TEST_LIMIT=$(or $(TEST_LIMIT),600) test SUITES="$(or $(SUITES),unit spank mpi stand-in nccl)"

asan: sanitize  ## the same, then a run of the trainer that is stopped and resumed again and again
	@BUILD=$(ASAN_BUILD) test/training/sanitized

reliability: needed-packages  ## strike at real jobs in all ways of docs/reliability.md, and write that page anew (as root)
	$(AGAIN) programs stage
	@BUILD=$(BUILD) test/reliability/run

soak: needed-packages  ## the long cases: SOAK_MINUTES= (30) of strikes by chance, long time limits, many restarts, long sums (as root)
	$(AGAIN) programs stage
	@bash -ec '. test/environment.bash; $(BUILD)/test/unit/tests "[.large]"; mpirun -n 2 $(BUILD)/test/mpi/tests "[.large]"'
	@BUILD=$(BUILD) RESTARTS=$(or $(RESTARTS),20) test/training/test killed_again_and_again_a_run_goes_on_and_leaves_nothing_behind
	@BUILD=$(BUILD) SOAK_MINUTES=$(or $(SOAK_MINUTES),30) test/cluster/test --long

spank: $(SPANK_PROGRAMS)  ## build the SPANK plugin and nccl-setup alone

programs: $(BUILD)/lockstep $(SPANK_PROGRAMS) $(TEST_PROGRAMS) $(SPANK_TESTS) $(FAKE_GPU_TESTS)

# What jobs on the test cluster and in the demo run: an installed tree, as a site would have it.
stage: $(BUILD)/lockstep $(SPANK_PROGRAMS)
	@rm -rf $(BUILD)/stage
	@$(MAKE) --no-print-directory install CUDA=0 PREFIX=$(abspath $(BUILD)/stage) DESTDIR= \
	  SLURM_PLUGIN_DIR=$(abspath $(BUILD)/stage)/lib/slurm >/dev/null

install: $(BUILD)/lockstep $(CUDA_LIBRARY) copy-spank  ## copy programs, plugin, scripts, recipes and docs below $(DESTDIR)$(PREFIX)
	install -D -m 755 $(BUILD)/lockstep $(BINDIR)/lockstep
	$(if $(CUDA_LIBRARY),install -D -m 755 $(CUDA_LIBRARY) $(DESTDIR)$(CUDA_PLACE))
	@set -e; copy() { install -D -m $$(test -x $$1 && echo 755 || echo 644) $$1 $$2/$$1; }; \
	for file in $(SHARED); do copy $$file $(SHAREDIR); done; \
	for file in $(DOCS); do copy $$file $(DOCDIR); done
	@echo 'installed: $(BINDIR)/lockstep, $(SHAREDIR), $(DOCDIR)'

NO_PLUGIN = no plugin: $(SLURM_INCLUDE)/slurm/spank.h not found; install Slurm's headers, or set SLURM_INCLUDE

install-spank:  ## copy the plugin, nccl-setup, profiles and their docs alone; needs neither MPI nor HDF5
ifneq ($(PLUGIN),)
install-spank: copy-spank
else
install-spank:
	@echo "$(NO_PLUGIN)" >&2; false
endif

copy-spank: spank
	install -D $(STRIP) -m 755 $(BUILD)/nccl-setup $(BINDIR)/nccl-setup
	@for file in $(PROFILES); do install -D -m 644 spank/profiles/$$file $(SHAREDIR)/profiles/$$file; done
	@install -D -m 644 sbatch/pytorch.sbatch $(SHAREDIR)/sbatch/pytorch.sbatch
	@for file in LICENSE $(wildcard docs/nccl-*.md); do install -D -m 644 $$file $(DOCDIR)/$$file; done
ifneq ($(PLUGIN),)
	install -D $(STRIP) -m 755 $(PLUGIN) $(DESTDIR)$(PLUGIN_PLACE)
	@echo "built for Slurm $$(spank/packaging/slurm-version $(SLURM_INCLUDE)); a line for plugstack.conf:"
	@echo '  optional $(PLUGIN_PLACE)'
	@echo 'with profiles of your nodes, as root, on every node:'
	@echo '  cp $(PREFIX)/share/lockstep/profiles/infiniband.conf /etc/slurm/nccl-setup.conf'
	@echo '  nccl-setup check /etc/slurm/nccl-setup.conf'
	@echo 'and at the end of the line: config=/etc/slurm/nccl-setup.conf'
else
	@echo "$(NO_PLUGIN)"
endif

uninstall:  ## remove what install has copied, and nothing else
	rm -f $(BINDIR)/lockstep $(BINDIR)/nccl-setup $(DESTDIR)$(PLUGIN_PLACE) $(DESTDIR)$(CUDA_PLACE)
	@rm -f $(SHARED:%=$(SHAREDIR)/%) $(DOCS:%=$(DOCDIR)/%) $(PROFILES:%=$(SHAREDIR)/profiles/%)
	@for folder in $(SHAREDIR) $(DOCDIR); do \
	  [ ! -d $$folder ] || find $$folder -depth -type d -empty -delete; done

deb: spank  ## make a Debian package of plugin and nccl-setup for the Slurm that is installed, in build/
	@$(if $(PLUGIN),:,echo "no plugin: install Slurm's headers (libslurm-dev), or set SLURM_INCLUDE" >&2; false)
	@rm -rf $(BUILD)/deb
	@set -e; export VERSION='$(VERSION)' SLURM_VERSION=$$(spank/packaging/slurm-version $(SLURM_INCLUDE)); \
	export SLURM_PLUGIN_DIR=$(or $(GIVEN_PLUGIN_DIR),$$(spank/packaging/slurm-plugin-dir)); \
	$(MAKE) --no-print-directory install-spank DESTDIR=$(abspath $(BUILD)/deb) PREFIX=/usr \
	  SLURM_PLUGIN_DIR="$$SLURM_PLUGIN_DIR" DOCDIR='$$(DESTDIR)/usr/share/doc/slurm-lockstep-nccl' >/dev/null; \
	spank/packaging/deb $(BUILD)/deb $(BUILD)

clean:  ## remove what was built
	rm -rf build

# ---- Building ---------------------------------------------------------------------------------------------
libraries:
	@$(if $(HDF5_MPI_LIBS),:,echo '$(PKG_CONFIG) lacks one of $(LIBRARIES): see `make info`, or `make packages`' >&2; false)

$(BUILD)/lockstep: $(BUILD)/src/cli/main.o $(BUILD)/liblockstep.a
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(WHOLE_LIBRARY) $(LDLIBS)

$(BUILD)/liblockstep.a: $(LIB_OBJECTS)
	$(call quiet,AR,$@)rm -f $@ && ar rcs $@ $^

$(BUILD)/%.o: %.cpp | libraries
	@mkdir -p $(@D)
	$(call quiet,CXX,$<)$(CXX) $(CPPFLAGS) $(ALL_CXXFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/test/unit/tests: $(UNIT_OBJECTS) $(BUILD)/liblockstep.a
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(WHOLE_LIBRARY) $(LDLIBS)

$(BUILD)/test/mpi/tests: $(MPI_OBJECTS) $(BUILD)/test/unit/data_fixture.o $(BUILD)/liblockstep.a
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/test/bench/%: $(BUILD)/test/bench/%.o $(BUILD)/liblockstep.a
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/test/training/%: $(BUILD)/test/training/%.o $(BUILD)/liblockstep.a
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

# Preloaded into a process, it lets a chosen call of a chosen rank fail (test/fault/fault.cpp).
$(FAULT): test/fault/fault.cpp | libraries
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CXX) $(CPPFLAGS) $(filter-out $(SANITIZE),$(ALL_CXXFLAGS)) -fPIC -shared -MMD -MP -o $@ $< -ldl

# The plugin's core, the plugin, nccl-setup.
PIC_CPPFLAGS := -Ispank -Isrc -DXXH_INLINE_ALL -DLOCKSTEP_VERSION='"$(VERSION)"' \
                $(if $(filter-out /usr/include,$(SLURM_INCLUDE)),-isystem $(SLURM_INCLUDE))
STATIC_RUNTIME := $(if $(SANITIZERS),,-static-libgcc -static-libstdc++)
HARDENING := -Wl,-z,relro -Wl,-z,now -Wl,-z,defs

define compile_pic
@mkdir -p $(@D)
$(call quiet,CXX,$<)$(CXX) $(PIC_CPPFLAGS) $(ALL_CXXFLAGS) -fPIC -fvisibility=hidden -fstack-protector-strong \
  -MMD -MP -c -o $@ $<
endef

$(BUILD)/pic/%.o: %.cpp
	$(compile_pic)

$(BUILD)/pic-fault/%.o: PIC_CPPFLAGS += -DLOCKSTEP_SPANK_FAULTS
$(BUILD)/pic-fault/%.o: %.cpp
	$(compile_pic)

$(BUILD)/libsetup.a: $(SETUP_OBJECTS)
	$(call quiet,AR,$@)rm -f $@ && ar rcs $@ $^

# Slurm's own functions are found in the process that loads the plugin.
$(BUILD)/spank_lockstep.so: $(PLUGIN_SOURCES:%.cpp=$(BUILD)/pic/%.o)
$(BUILD)/test/spank_lockstep_fault.so: $(PLUGIN_SOURCES:%.cpp=$(BUILD)/pic-fault/%.o)
$(BUILD)/spank_lockstep.so $(BUILD)/test/spank_lockstep_fault.so: $(BUILD)/libsetup.a spank/plugin/exports.map
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CXX) $(filter-out -rdynamic,$(ALL_LDFLAGS)) -shared $(STATIC_RUNTIME) \
	  $(filter-out -Wl$(comma)-z$(comma)defs,$(HARDENING)) -Wl,--version-script=spank/plugin/exports.map -o $@ $(filter %.o,$^) $(filter %.a,$^)

$(BUILD)/nccl-setup: $(COMMAND_SOURCES:%.cpp=$(BUILD)/pic/%.o) $(BUILD)/libsetup.a
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) $(STATIC_RUNTIME) $(HARDENING) -o $@ $^

$(BUILD)/test/spank/tests: $(SPANK_TEST_OBJECTS) $(BUILD)/libsetup.a
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) -o $@ $^

# Writes the nodes of test/fixtures/nodes as trees of files, for scripts.
$(BUILD)/test/spank/make_node: $(addprefix $(BUILD)/pic/test/spank/,make_node/main.o fake_node.o) $(BUILD)/libsetup.a
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) -o $@ $^

$(BUILD)/libfuzzed.a: $(FUZZED_SOURCES:%.cpp=$(BUILD)/%.o)
	$(call quiet,AR,$@)rm -f $@ && ar rcs $@ $^

$(BUILD)/test/fuzz/trainer/%: $(BUILD)/test/fuzz/trainer/%.o $(BUILD)/test/fuzz/$(FUZZ_MAIN).o $(BUILD)/libfuzzed.a
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) $(FUZZ_LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/test/fuzz/%: $(BUILD)/pic/test/fuzz/%.o $(BUILD)/pic/test/fuzz/$(FUZZ_MAIN).o $(BUILD)/libsetup.a
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CXX) $(ALL_LDFLAGS) $(FUZZ_LDFLAGS) -o $@ $^

$(BUILD)/src/device/cpu/parallel.o: ALL_CXXFLAGS += $(OPENMP)
# A root that may set errno is a call: the loop would not become vector code.
$(BUILD)/src/device/cpu/adamw.o: ALL_CXXFLAGS += -fno-math-errno

# The version is compiled into one file; it is built again when git's description changes.
$(BUILD)/src/cli/version.o $(BUILD)/src/device/cuda_library.o: CPPFLAGS += $(VERSION_FLAGS)
$(BUILD)/src/cli/version.o: $(BUILD)/git-$(subst /,-,$(GIT))
$(BUILD)/git-$(subst /,-,$(GIT)):
	@mkdir -p $(@D) && rm -f $(BUILD)/git-* && touch $@

# ---- Linting ----------------------------------------------------------------------------------------------
SPANK_SOURCES := $(filter spank/%,$(SETUP_SOURCES)) $(COMMAND_SOURCES) $(if $(PLUGIN),$(PLUGIN_SOURCES))
TIDIED := $(patsubst %.cpp,$(BUILD)/lint/%.tidy,$(SOURCES) $(SPANK_SOURCES)) \
          $(if $(FAKE_GPU),$(CUDA_SOURCES:%=$(BUILD)/lint/%.tidy))

.PHONY: lint-checks
lint-checks:
	@test/lint/run $(MAKE) --no-print-directory --keep-going tidy

tidy: $(TIDIED)

TIDY_FLAGS = $(CPPFLAGS) $(VERSION_FLAGS)
$(BUILD)/lint/spank/%.tidy: TIDY_FLAGS = $(PIC_CPPFLAGS)
# As the stand-in sees them: kernels too.
$(CUDA_SOURCES:%=$(BUILD)/lint/%.tidy): TIDY_FLAGS = $(FAKE_GPU_CPPFLAGS) -x c++

# A file is looked at again only when it, a header of it, or the set of checks has changed.
define tidy_up
@mkdir -p $(@D)
$(call quiet,TIDY,$<)clang-tidy --quiet $< -- $(TIDY_FLAGS) -std=c++20 -Wall -Wextra 2>$@.log \
  || { cat $@.log; exit 1; }
@$(CXX) $(TIDY_FLAGS) -std=c++20 -MM -MP -MT $@ -MF $@.d $< && touch $@
endef

$(BUILD)/lint/%.tidy: %.cpp .clang-tidy | libraries
	$(tidy_up)

$(BUILD)/lint/%.tidy: % .clang-tidy | libraries
	$(tidy_up)

-include $(DEPENDENCIES) $(TIDIED:=.d)
