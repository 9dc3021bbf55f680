# gradgate. Targets:
#   all      the program, build/gradgate (CUDA kernels too when nvcc is there)
#   demo     installs what is missing, builds, runs the main job on the host
#   test     installs what is missing, builds, passes the tests (no GPU needed)
#   fuzz     fuzzes every parser (FUZZ_SECONDS=60 each; needs clang)
#   spills   compiles every CUDA kernel and fails on a register spill
#   style    the project's rules that a script can check
#   setup    installs missing packages (Debian, Ubuntu)
#   install, uninstall, lib   scripts/install.mk: PREFIX=/usr/local  DESTDIR=
#   clean
# Variables: BUILD=build  CUDA=1|0  NVCC=...  CUDA_ARCH=90a  SAN=1 (host sanitizers)
#   MPI=1 (ranks of an MPI job; needs mpicc)  STATIC=1 (libraries linked statically where an archive exists)

BUILD ?= build
CC ?= gcc
NVCC ?= $(or $(shell command -v nvcc 2>/dev/null),$(wildcard /usr/local/cuda/bin/nvcc))
CUDA ?= $(if $(and $(NVCC),$(if $(SAN),,yes)),1,0)
CUDA_ARCH ?= 90a
VERSION := 0.1.0
MAKEFLAGS += -j$(shell nproc) --no-print-directory

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
    $(if $(FUZZ),,-Wno-format-truncation)
# No fused multiply-add behind our back, no fast math: bits are the product.
CFLAGS ?= -O2 -g
HOST_FLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L $(WARN) -ffp-contract=off -fPIC \
    -I. -I$(BUILD) -DGG_CUDA=$(CUDA) -DGG_SOURCE_DIR='"$(CURDIR)"' $(CFLAGS)
DEVICE_FLAGS := -std=c++17 -O3 -Xcompiler -fPIC --fmad=false --Werror all-warnings -lineinfo \
    -gencode=arch=compute_$(CUDA_ARCH),code=sm_$(CUDA_ARCH) -I. -DGG_CUDA=1 -Xptxas -v
LINK := $(CC)
ifdef STATIC
LIBS := -l:libmpfr.a -l:libgmp.a -l:libxxhash.a -l:libz.a -lcjson -lm -lpthread -ldl
else
LIBS := -lmpfr -lgmp -lxxhash -lz -lcjson -lm -lpthread -ldl
endif
MPI_FLAGS = -DGG_MPI=1 $(shell mpicc --showme:compile)
MPI_LIBS = $(shell mpicc --showme:link)
ifdef MPI
$(BUILD)/harness/ranks.o: private HOST_FLAGS += $(MPI_FLAGS)
LIBS += $(MPI_LIBS)
endif
ifdef SAN
HOST_FLAGS += -fsanitize=address,undefined -fno-sanitize-recover=all
LIBS += -fsanitize=address,undefined
endif

ifdef FUZZ # by clang (scripts/fuzz.sh)
HOST_FLAGS += -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
    -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
endif

FOLDERS := reference cases kernels $(patsubst %/,%,$(wildcard kernels/*/)) reports harness
SOURCES := $(wildcard $(FOLDERS:%=%/*.c))
TESTS := $(filter %_test.c,$(SOURCES))
FUZZERS := $(filter %_fuzz.c,$(SOURCES))
OBJECTS := $(patsubst %.c,$(BUILD)/%.o,\
    $(filter-out %_test.c %_fuzz.c %_shim.c harness/main.c harness/planted_%.c,$(SOURCES)))
ifeq ($(CUDA),1)
KERNELS := $(wildcard $(FOLDERS:%=%/*.cu))
OBJECTS += $(KERNELS:%.cu=$(BUILD)/%.cu.o)
LINK := g++ -static-libstdc++ -static-libgcc
LIBS += -L$(dir $(NVCC))../lib64 -L$(dir $(NVCC))../lib -lcudart_static -lrt
endif

.PHONY: planted-cuda all demo test unit twins fuzz fuzzers spills style setup clean FORCE
all: $(BUILD)/gradgate

$(BUILD)/gradgate: $(BUILD)/harness/main.o $(OBJECTS)
	@echo "  link $@"
	@$(LINK) -o $@ $^ $(LIBS) -Wl,-rpath,'$$ORIGIN'
ifneq ($(CUDA),1)
	@echo "built without CUDA (no nvcc): the host twins run, --device cuda does not"
endif

$(BUILD)/unit: $(TESTS:%.c=$(BUILD)/%.o) $(OBJECTS)
	@echo "  link $@"
	@$(LINK) -o $@ $^ $(LIBS) -lcriterion

$(BUILD)/%.o: %.c $(BUILD)/flags | setup $(BUILD)/build_identity.h
	@mkdir -p $(@D)
	@echo "  cc   $<"
	@$(CC) $(HOST_FLAGS) -MMD -MP -c $< -o $@

$(BUILD)/%.cu.o: %.cu $(BUILD)/flags | setup
	@mkdir -p $(@D)
	@echo "  nvcc $<"
	@$(NVCC) $(DEVICE_FLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@ > $(@:.o=.log) 2>&1 \
	    || { cat $(@:.o=.log); rm -f $@; exit 1; }

# Both rewritten only when they change: other flags build everything again, another commit only
# what states the identity.
$(BUILD)/flags: FORCE | setup
	@mkdir -p $(BUILD)
	@echo '$(CC) $(HOST_FLAGS) / $(if $(filter 1,$(CUDA)),$(NVCC) $(DEVICE_FLAGS))$(if $(MPI), MPI)' > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(BUILD)/build_identity.h: FORCE | setup
	@mkdir -p $(BUILD)
	@sh scripts/identity.sh $(VERSION) "$(CC)" "$(if $(filter 1,$(CUDA)),$(NVCC))" \
	    "$(CFLAGS)$(if $(MPI), MPI)" > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

setup:
	@sh scripts/setup.sh

demo: all
	$(BUILD)/gradgate run --suite smoke600 --kernel turbo --device host \
	    --out $(BUILD)/smoke600.json

unit: $(BUILD)/unit
	LSAN_OPTIONS=suppressions=scripts/lsan.supp $(BUILD)/unit --timeout 300 $(UNIT_FLAGS)

PLANTED := $(BUILD)/planted/gradgate $(BUILD)/planted/uncompensated
# Memory is refused to a host build: the CUDA runtime starts before main() and needs some.
test: all unit stage $(PLANTED) $(BUILD)/planted/breaking \
    $(if $(shell command -v mpicc 2>/dev/null),$(BUILD)/planted/ranks)
	sh harness/command_test.sh $(BUILD)
	sh harness/case_test.sh $(BUILD)
	sh harness/determinism_test.sh $(BUILD)
	sh harness/gate_test.sh $(BUILD)
	sh harness/budget_test.sh $(BUILD)
	sh harness/page_test.sh $(BUILD)
	sh harness/plugin_test.sh $(BUILD)
	sh harness/exchange_test.sh $(BUILD)
	sh harness/workers_test.sh $(BUILD)
	sh harness/ranks_test.sh $(BUILD)
	@$(MAKE) CUDA=0 BUILD=$(BUILD)/host all $(BUILD)/host/harness/memory_shim.so
	sh harness/scarce_test.sh $(BUILD)/host
	sh harness/race_test.sh $(BUILD)/host
	sh harness/kill_test.sh $(BUILD)
	sh harness/ci_test.sh $(BUILD)
	sh harness/install_test.sh $(BUILD)

# Preloaded by tests, to refuse memory.
$(BUILD)/%_shim.so: $(BUILD)/%_shim.o
	@$(CC) -shared -o $@ $<

# The host twins alone, which tests build again with other flags.
twins: $(patsubst %.c,$(BUILD)/%.o,$(filter-out %_test.c,$(wildcard kernels/*.c kernels/*/*.c)))

# The program with one line of twin_forward.c changed, which the tests must see: a rounding
# in the sum of a row (the golden digests do), and the residual of the output taken after
# the rounding that it should undo, so that compensation is lost (the gate does).
$(BUILD)/planted/gradgate: CHANGE = s/fmaf(state->l\[i\], a, row_sum(p, width))/state->l[i] * a + \
    row_sum(p, width)/
$(BUILD)/planted/uncompensated: CHANGE = s/o32 - gg_bf16_to_float(o)/gg_bf16_to_float(o) - \
    gg_bf16_to_float(o)/
$(PLANTED): kernels/triangle_attention/twin_forward.c all
	@mkdir -p $(@D)
	@sed '$(CHANGE)' $< > $@.c
	@! cmp -s $< $@.c || { echo "the planted change found nothing to change"; exit 1; }
	@$(CC) $(HOST_FLAGS) -c $@.c -o $@.o
	@$(LINK) -o $@ $(BUILD)/harness/main.o $@.o \
	    $(filter-out %/twin_forward.o,$(OBJECTS)) $(LIBS) -Wl,-rpath,'$$ORIGIN'

# `naive` with a barrier left out, and with one element far outside: compute-sanitizer must
# find them (scripts/sanitize.sh).
planted-cuda: $(BUILD)/planted/race $(BUILD)/planted/overrun
$(BUILD)/planted/race: CHANGE = s|__syncthreads(); /\* this stage has come|/* this stage has come|
$(BUILD)/planted/overrun: CHANGE = s|p.store(batch, i, j|p.store(batch + (i + j == 0 ? 1u << 24 : 0u), i, j|
$(BUILD)/planted/race $(BUILD)/planted/overrun: kernels/triangle_attention/product.cuh all
	@mkdir -p $@.d/kernels/triangle_attention
	@sed '$(CHANGE)' $< > $@.d/$<
	@! cmp -s $< $@.d/$< || { echo "the planted change found nothing to change"; exit 1; }
	@$(NVCC) -I$@.d $(DEVICE_FLAGS) -c kernels/triangle_attention/naive.cu -o $@.o > $@.log 2>&1 \
	    || { cat $@.log; exit 1; }
	@$(LINK) -o $@ $(BUILD)/harness/main.o $@.o \
	    $(filter-out %/naive.cu.o,$(OBJECTS)) $(LIBS) -Wl,-rpath,'$$ORIGIN'

# Fuzzes every parser for FUZZ_SECONDS, then shows that each target can find a fault.
fuzz: all
	sh scripts/fuzz.sh $(BUILD) $(or $(FUZZ_SECONDS),60)

# What reads files or arguments, by clang; arithmetic stays gcc's, whose pragmas it uses.
fuzzers: $(filter $(BUILD)/cases/% $(BUILD)/reports/% $(BUILD)/harness/%,$(OBJECTS)) \
    $(BUILD)/kernels/registry.o $(FUZZERS:%.c=$(BUILD)/%.o)

include scripts/install.mk

# The program with kernels that break their process, as harness/planted_break.c says.
$(BUILD)/planted/breaking: $(BUILD)/harness/planted_break.o $(BUILD)/harness/main.o $(OBJECTS)
	@mkdir -p $(@D)
	@$(LINK) -o $@ $^ $(LIBS) -Wl,--wrap=gg_kernel_find -Wl,-rpath,'$$ORIGIN'

# The same as a rank of an MPI job, whatever MPI says.
$(BUILD)/planted/ranks: harness/ranks.c $(BUILD)/planted/breaking
	@$(CC) $(HOST_FLAGS) $(MPI_FLAGS) -DGG_LOST_SECONDS=8 -c $< -o $@.o
	@$(LINK) -o $@ $@.o $(BUILD)/harness/planted_break.o $(BUILD)/harness/main.o \
	    $(filter-out %/ranks.o,$(OBJECTS)) $(LIBS) $(MPI_LIBS) -Wl,--wrap=gg_kernel_find \
	    -Wl,-rpath,'$$ORIGIN'

spills: $(KERNELS:%.cu=$(BUILD)/%.cu.o)
	sh scripts/spills.sh $(KERNELS:%.cu=$(BUILD)/%.cu.log)

style:
	sh scripts/style.sh

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)
