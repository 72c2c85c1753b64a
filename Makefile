# Tessera builds with GNU make and a C11 compiler. `make help` lists the targets.
#
#   make CC=clang WERROR=1         another compiler, warnings as errors
#   make BUILD=build/debug OPT=-O0 another tree beside the first
#
# Objects are rebuilt when the flags change (build/flags). Nothing here needs the network or a GPU.

# The first compiler that is here, unless one is asked for.
first_of = $(firstword $(foreach tool,$(1),$(shell command -v $(tool) 2>/dev/null)) $(1))
ifeq ($(origin CC),default)
CC      := $(notdir $(call first_of,cc gcc clang))
endif
ifeq ($(origin CXX),default)
CXX     := $(notdir $(call first_of,c++ g++ clang++))
endif
AR      ?= ar
LD      ?= ld
OBJCOPY ?= objcopy
BUILD   ?= build
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR  ?= $(PREFIX)/bin
MANDIR  ?= $(PREFIX)/share/man
INSTALL_ENV = BUILD='$(BUILD)' VERSION='$(VERSION)' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' BINDIR='$(BINDIR)' \
              LIBDIR='$(LIBDIR)' INCLUDEDIR='$(INCLUDEDIR)' MANDIR='$(MANDIR)'

# As many commands at once as there are processors; -j says otherwise. `make clean all` stays one after the other.
ifeq ($(MAKELEVEL)$(filter clean,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
endif
# For scripts that call make again: without this one's job server.
ALONE = MAKEFLAGS='$(filter-out -j% --jobserver%,$(MAKEFLAGS))'

# One short line for each file; V=1 shows the commands.
V ?= 0
ifeq ($(V),0)
say = @printf '  %-5s %s\n' $(1) $(2);
else
say =
endif

VERSION := $(shell sed -n 's/^.define TESS_VERSION_STRING "\(.*\)"/\1/p' include/tessera.h)
SOMAJOR := $(firstword $(subst ., ,$(VERSION)))
REVISION := $(shell git describe --always --dirty 2>/dev/null || echo unknown)

OPT      ?= -O3 -g
WARNINGS := -std=c11 -pedantic -Wall -Wextra -Wshadow -Wconversion -Wcast-qual -Wstrict-prototypes \
            -Wmissing-prototypes -Wundef -Wvla -Wformat=2 -Wdouble-promotion
WERROR   ?= 0
ifneq ($(WERROR),0)
WARNINGS += -Werror
endif
SANITIZE ?=
# A multiply and an add become one instruction only where the source says so, not where a compiler likes to.
ALL_CFLAGS := $(WARNINGS) $(OPT) -fPIC -fvisibility=hidden -fno-math-errno -ffp-contract=off -pthread $(SANITIZE) \
              -D_GNU_SOURCE -Iinclude $(CFLAGS)
ALL_LDFLAGS := $(SANITIZE) -pthread $(LDFLAGS)
LIBS := -lm -ldl

LIB_SRC  := $(sort $(wildcard src/*.c src/*/*.c))
CLI_SRC  := $(sort $(wildcard cli/*.c))
TEST_SRC := $(sort $(wildcard tests/*.c))
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(sort $(wildcard examples/*.c)))
KERNELS  := $(sort $(wildcard kernels/*.h)) src/sim/port_sim.h src/sim/tensor_sim.h $(sort $(wildcard kernels/*.cu))
LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o) $(BUILD)/kernels/embedded.o
CLI_OBJ  := $(CLI_SRC:%.c=$(BUILD)/%.o)
TEST_OBJ := $(TEST_SRC:%.c=$(BUILD)/%.o)
# Charts and the summary of samples are tested from inside, as the library is.
TEST_CLI := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard cli/chart*.c)) cli/say.c cli/timing.c)
TEST_AID := $(BUILD)/tests/tools/npy_make $(BUILD)/tests/tools/runs $(BUILD)/tests/tools/hashes $(BUILD)/tests/tools/first_call $(BUILD)/tests/tools/counters \
            $(BUILD)/tests/tools/blas_calls $(BUILD)/tests/fuzz/npy
STANDINS := $(addprefix $(BUILD)/tests/standin/,libcuda.so.1 libnvrtc.so.13 libnvidia-ml.so.1 libcublas.so.13 libcublasLt.so.13)

STATIC := $(BUILD)/libtessera.a
SHARED := $(BUILD)/libtessera.so.$(SOMAJOR)
BLAS   := $(BUILD)/libtessera-blas.so
BLAS_OBJ := $(BUILD)/blas/tessera_blas.o

.PHONY: all demo docs check check-long check-gpu check-format sanitize tsan valgrind fuzz examples tests \
        install uninstall format clean help FORCE
.DELETE_ON_ERROR:
all: $(STATIC) $(SHARED) $(BLAS) $(BUILD)/tessera $(BUILD)/sim.modules

help:
	@echo 'make               build/libtessera.a, build/libtessera.so.$(SOMAJOR), build/libtessera-blas.so, build/tessera'
	@echo 'make demo          build, then climb the ladder on the best device here'
	@echo 'make docs          renew the tables and the chart of README.md and docs/ from bench/'
	@echo 'make check         every test that fits in a few minutes'
	@echo 'make check-long    the slow tier: more random shapes, products beyond 2^31 elements'
	@echo 'make check-gpu     the tests, verify and the sanitizers of CUDA, on the GPU of this machine'
	@echo 'make sanitize      the tests under ASan + UBSan, and the threaded ones under TSan'
	@echo 'make valgrind      a short run under valgrind'
	@echo 'make fuzz          a minute of hostile .npy files, where clang has its fuzzer'
	@echo 'make examples      the programs in examples/, against the shared library'
	@echo 'make format        rewrite the sources with clang-format (check-format only looks)'
	@echo 'make install       to $$DESTDIR$$PREFIX (PREFIX=$(PREFIX)); make uninstall takes it away again'
	@echo 'make clean         remove $(BUILD)/'

# The flags of the last build: a change rebuilds everything.
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD)
	@echo '$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS)' > $@

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) $(FILE_CFLAGS) -MMD -MP -c $< -o $@

# The kernels of a GPU travel in the library as text.
$(BUILD)/tools/%: tools/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) $< -o $@ $(ALL_LDFLAGS)
$(BUILD)/kernels/embedded.c: $(BUILD)/tools/embed $(KERNELS)
	@mkdir -p $(@D)
	$(call say,EMBED,kernels)$(BUILD)/tools/embed $(KERNELS) > $@
$(BUILD)/kernels/embedded.o: $(BUILD)/kernels/embedded.c
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -Wno-overlength-strings -Isrc -c $< -o $@

# Each instruction set has a file of its own, which the library enters only where the CPU has it.
ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
# gcc would write each tile twice, the second time for strides of 1, and then keep sums in memory.
ONE_TILE := -fno-version-loops-for-strides
TILES := $(shell $(CC) $(ONE_TILE) -fsyntax-only -x c /dev/null 2>/dev/null && echo $(ONE_TILE))
$(BUILD)/src/cpu/isa_portable.o: FILE_CFLAGS := $(TILES)
ifeq ($(ARCH),x86_64)
AVX512 := $(TILES) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512
AMX    := -mamx-tile -mamx-int8 -mamx-bf16
$(BUILD)/src/cpu/isa_avx2.o: FILE_CFLAGS := $(TILES) -mavx2 -mfma -mf16c
$(BUILD)/src/cpu/isa_avx512.o: FILE_CFLAGS := $(AVX512)
$(BUILD)/src/cpu/isa_avx512_vnni.o: FILE_CFLAGS := $(AVX512) -mavx512vnni
# AMX is younger than some compilers, and Linux has to be asked for it.
ifeq ($(shell uname -s)$(shell $(CC) $(AMX) -fsyntax-only -x c /dev/null 2>/dev/null && echo yes),Linuxyes)
$(BUILD)/src/cpu/isa_amx.o: FILE_CFLAGS := $(AVX512) $(AMX) -DWITH_AMX
$(BUILD)/src/cpu/isa.o: FILE_CFLAGS := -DWITH_AMX
endif
endif
ifeq ($(ARCH),aarch64)
# Loops of 27 instructions run 1 to 3 % faster where they begin at a multiple of what is fetched at once.
NEON := $(TILES) -ffp-contract=fast -falign-loops=32
$(BUILD)/src/cpu/isa_neon.o: FILE_CFLAGS := $(NEON)
$(BUILD)/src/cpu/cpu_05_vector.o: FILE_CFLAGS := -ffp-contract=fast
$(BUILD)/src/cpu/isa_neon_dot.o: FILE_CFLAGS := $(NEON) -march=armv8.2-a+dotprod
# The matrix multiply-adds are younger than some compilers.
ifeq ($(shell $(CC) -march=armv8.2-a+i8mm+bf16 -fsyntax-only -x c /dev/null 2>/dev/null && echo yes),yes)
$(BUILD)/src/cpu/isa_neon_i8mm.o: FILE_CFLAGS := $(NEON) -march=armv8.2-a+i8mm -DWITH_MMLA
$(BUILD)/src/cpu/isa_neon_bf16.o: FILE_CFLAGS := $(NEON) -march=armv8.2-a+i8mm+bf16 -DWITH_MMLA
$(BUILD)/src/cpu/isa.o: FILE_CFLAGS := -DWITH_MMLA
endif
endif
# What results are named after is the commit they were measured with: a new one compiles this file again.
$(BUILD)/revision: FORCE
	@mkdir -p $(BUILD)
	@echo '$(REVISION)' | cmp -s - $@ || echo '$(REVISION)' > $@
$(BUILD)/cli/environment.o: $(BUILD)/revision
$(BUILD)/cli/environment.o: FILE_CFLAGS := -DTESSERA_REVISION='"$(REVISION)"'
# Flags of single files stand in this file alone.
$(filter $(BUILD)/src/cpu/isa%,$(LIB_OBJ)): Makefile

# The ladder's kernels for the simulator, plain and traced. Modules whose sources have not changed are kept.
$(BUILD)/tools/sim_modules: tools/sim_modules.c $(LIB_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(ALL_CFLAGS) -Isrc $< -o $@ $(ALL_LDFLAGS) $(LIB_OBJ) $(LIBS)
$(BUILD)/sim.modules: $(BUILD)/tools/sim_modules
	$(call say,SIM,$@)$(BUILD)/tools/sim_modules $@

# The static library is one object whose internal names are local, so that only tess_* can clash.
$(STATIC): $(LIB_OBJ)
	$(call say,AR,$@)$(LD) -r -o $(BUILD)/tessera.o $(LIB_OBJ)
	@$(OBJCOPY) --localize-hidden $(BUILD)/tessera.o
	@rm -f $@
	@$(AR) rcs $@ $(BUILD)/tessera.o

$(SHARED): $(LIB_OBJ)
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,$(@F) $(ALL_LDFLAGS) -o $@ $(LIB_OBJ) $(LIBS)
	@ln -sf $(@F) $(BUILD)/libtessera.so

# What programs that call BLAS are given: the library inside, its own names hidden. Its threads outlive dlclose.
$(BLAS): $(BLAS_OBJ) $(STATIC)
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete -Wl,--exclude-libs,ALL $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/tessera: $(CLI_OBJ) $(STATIC)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $(CLI_OBJ) $(STATIC) $(LIBS)

# White-box tests reach inside, so the tests link the library's objects.
tests: $(BUILD)/tests/tests $(TEST_AID) $(STANDINS)
$(BUILD)/tests/tests: $(TEST_OBJ) $(TEST_CLI) $(LIB_OBJ)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $(TEST_OBJ) $(TEST_CLI) $(LIB_OBJ) $(LIBS)

# Programs that test scripts use: one source each, and for a fuzzer the file of cli/ that it is for.
$(addprefix $(BUILD)/tests/tools/,hashes first_call counters): $(BUILD)/tests/tools/%: tests/tools/%.c $(STATIC)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -MMD -MP $< -o $@ $(ALL_LDFLAGS) $(STATIC) $(LIBS)
$(BUILD)/tests/tools/blas_calls: tests/tools/blas_calls.c $(BLAS)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -MMD -MP $< -o $@ $(ALL_LDFLAGS) -L$(BUILD) -ltessera-blas -Wl,-rpath,'$$ORIGIN/../..' -lm
$(BUILD)/tests/tools/%: tests/tools/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -MMD -MP $< -o $@ $(ALL_LDFLAGS) -lm
$(BUILD)/tests/fuzz/%: tests/fuzz/%.c $(BUILD)/cli/%.o
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -Icli -MMD -MP $(filter %.c %.o,$^) -o $@ $(ALL_LDFLAGS)

# Stand-ins for CUDA's libraries, so that the CUDA device is tested where there is no GPU.
STANDIN_COMPUTE := tests/standin/compute.c tests/oracle.c
STANDIN_CUDA    := $(sort $(wildcard tests/standin/cuda*.c)) $(STANDIN_COMPUTE)
STANDIN_CUBLAS  := tests/standin/cublas.c $(STANDIN_COMPUTE)
standin = $(call say,LD,$@)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -shared $(filter %.c,$^) -o $@ $(ALL_LDFLAGS)
$(STANDINS): $(wildcard tests/standin/*.h) tests/oracle.h $(BUILD)/flags
$(BUILD)/tests/standin/libcuda.so.1: $(STANDIN_CUDA)
	$(standin) -lm
# A version that no real compiler has, so that the two never meet in a cache.
$(BUILD)/tests/standin/libnvrtc.so.13: tests/standin/nvrtc.c
	$(standin) -DSTANDIN_MINOR=99
$(BUILD)/tests/standin/libnvidia-ml.so.1: tests/standin/nvml.c
	$(standin)
$(BUILD)/tests/standin/libcublas.so.13 $(BUILD)/tests/standin/libcublasLt.so.13: $(STANDIN_CUBLAS) $(BUILD)/tests/standin/libcuda.so.1
	$(standin) -L$(@D) -l:libcuda.so.1 -Wl,-rpath,'$$ORIGIN' -lm

examples: $(EXAMPLES)
$(BUILD)/examples/%: examples/%.c $(SHARED)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -MMD -MP $< -o $@ $(ALL_LDFLAGS) -L$(BUILD) -ltessera -Wl,-rpath,'$$ORIGIN/..' -lm

demo: $(BUILD)/tessera $(BUILD)/sim.modules
	@sh scripts/demo.sh $(BUILD)/tessera

docs: $(BUILD)/tessera $(BUILD)/sim.modules
	@sh scripts/docs.sh $(BUILD)

check: export MAKE := $(MAKE)
check: all tests examples
	@$(ALONE) BUILD=$(BUILD) CC='$(CC)' CXX='$(CXX)' sh tests/run.sh

check-long: all tests
	@TESSERA_TEST_LONG=1 $(BUILD)/tests/tests
	@TESSERA_TEST_LONG=1 sh tests/compare.sh $(BUILD)
	@$(MAKE) --no-print-directory fuzz

check-gpu: all tests
	@$(ALONE) BUILD=$(BUILD) sh scripts/gpu.sh check

FUZZ_SECONDS ?= 60
fuzz: $(BUILD)/tests/fuzz/npy
	@BUILD=$(BUILD) sh tests/fuzz/run.sh $(FUZZ_SECONDS)

check-format:
	@sh scripts/format.sh check
format:
	@sh scripts/format.sh fix

# The sanitizers find what they find at -O1 with half the waiting. TSan slows a product 20 times, so it runs
# the tests that use threads.
sanitize:
	$(MAKE) BUILD=$(BUILD)/asan OPT='-O1 -g' SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all' tests
	TESSERA_TEST_SHORT=1 ASAN_OPTIONS=detect_leaks=1 $(BUILD)/asan/tests/tests --jobs=2
	$(MAKE) tsan
# TSan of some compilers does not start where the kernel randomises addresses widely.
FIXED_ADDRESSES = $(shell setarch -R true 2>/dev/null && echo setarch -R)
tsan:
	$(MAKE) BUILD=$(BUILD)/tsan OPT='-O1 -g' SANITIZE=-fsanitize=thread tests
	TESSERA_TEST_SHORT=1 $(FIXED_ADDRESSES) $(BUILD)/tsan/tests/tests threads pool fork context
valgrind: all tests
	TESSERA_TEST_SHORT=1 valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=all \
	    $(BUILD)/tests/tests view gemm_small plan bad_input memory

install: all
	@$(INSTALL_ENV) sh scripts/install.sh install
uninstall:
	@$(INSTALL_ENV) sh scripts/install.sh uninstall

clean:
	rm -rf $(BUILD)

-include $(LIB_OBJ:.o=.d) $(BLAS_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TEST_OBJ:.o=.d) $(EXAMPLES:=.d) $(TEST_AID:=.d)
