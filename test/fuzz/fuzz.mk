# Fuzzing the parsers. Included by the Makefile.

# Fuzz targets: one file each, of the plugin's core or (in trainer/) of the program. They run under the project's own
# driver, or under libFuzzer, which is Clang's, where FUZZER=1.
FUZZER ?= 0
FUZZ_TARGETS := $(patsubst test/fuzz/%.cpp,%,$(filter-out %/driver.cpp %/dictionary.cpp,$(wildcard test/fuzz/*.cpp)))
TRAINER_FUZZ_TARGETS := $(patsubst test/fuzz/%.cpp,%,$(wildcard test/fuzz/trainer/*.cpp))
FUZZ_MAIN := $(if $(filter 1,$(FUZZER)),dictionary,driver)
FUZZ_LDFLAGS := $(if $(filter 1,$(FUZZER)),-fsanitize=fuzzer)
# What the trainer's targets need: the parsers, not the program.
FUZZED_SOURCES := $(wildcard src/core/*.cpp) $(patsubst %,src/hdf5/%.cpp,handle serial) \
                  $(patsubst %,src/data/%.cpp,array_input byte_input column csv_columns csv_reader find_dataset idx_file \
                    names normalisation npy_file npy_header shard storage) src/checkpoint/seal.cpp \
                  src/optim/schedule.cpp $(patsubst %,src/train/%.cpp,attempt config config_rules config_setters \
                    config_source outcome requeue status)

.PHONY: fuzz fuzz-programs
FUZZ_BUILD := build/libfuzzer
FUZZ_FLAGS := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
FUZZ_CXX ?= $(if $(findstring clang,$(CXX)),$(CXX),clang++)
fuzz: needed-packages  ## run libFuzzer on the parsers, FUZZ_SECONDS= each (300); FUZZ_ONLY="csv npy" only these
	@command -v $(lastword $(FUZZ_CXX)) >/dev/null || { \
	  echo 'fuzz: libFuzzer needs $(lastword $(FUZZ_CXX)): apt-get install clang, or make lint-packages' >&2; false; }
	$(AGAIN) CXX='$(FUZZ_CXX)' BUILD=$(FUZZ_BUILD) SANITIZE='$(FUZZ_FLAGS)' SANITIZERS=fuzzer FUZZER=1 fuzz-programs
	@BUILD=$(FUZZ_BUILD) FUZZ_SECONDS=$(or $(FUZZ_SECONDS),300) test/fuzz/run $(FUZZ_ONLY)

fuzz-programs: $(addprefix $(BUILD)/test/fuzz/,$(FUZZ_TARGETS) $(TRAINER_FUZZ_TARGETS))
