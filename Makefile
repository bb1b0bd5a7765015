# Volta. `make demo` and `make test` do everything on a fresh machine; `make help` lists the rest.
# The build itself is CMake's (CMakeLists.txt); this file gives its uses short names.

.DEFAULT_GOAL := all
SHELL := /bin/sh

# ---- Settings: make NAME=value -------------------------------------------------------------------------

# gcc is what releases are built with, even where clang is installed.
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
DEPS    ?= yes          # no: never call apt-get
WERROR  ?= OFF          # ON: warnings are errors
PREFIX  ?= /usr/local
# Compilers at once: one per processor and per GiB of memory that is free.
JOBS    ?= $(shell awk -v n=$$(nproc) '/^MemAvailable/ { m = int($$2 / 1048576) } END { print m < 1 ? 1 : m < n ? m : n }' /proc/meminfo)
# Seconds of `make fuzz` per target, and arguments handed on to ctest by the targets that run tests.
FUZZ_SECONDS ?= 60
CTEST_FLAGS  ?=
# Files of `make fuzz-import` per importer, or repeats of `make determinism-repeats`; and where changes start.
COUNT ?=
# Faults of each kind in `make faults`; empty: all there are.
POINTS ?=
SEED  ?= 1
# Per cent of the lines that `make coverage` must see run.
COVERAGE_MIN ?= 90
# And of the lines of folders: PATTERN=PERCENT, as many as there are. The core (docs/testing.md) is all of the engine but
# what reads other programs' files, and jitgen.
CORE_FOLDERS := (engine/(api|backend|base|graph|group|model|numerics|passes|plan|runtime|tape)|jitgen)(/.*)?
COVERAGE_FOLDERS ?= engine/api=97 engine/graph=97 engine/plan=97 engine/model=97 engine/import.*=97 $(CORE_FOLDERS)=99
# Tests of `make nightly` that alone reach code of devices and of row kernels: repeats of the others reach
# nothing more, and test_backend_on_cuda takes a quarter of an hour for 50 lines.
COVERAGE_ALSO := ^(test_row_kernels|test_device_.*|test_tensor_attention_plans|test_product_choices|test_cublaslt_plans|test_mixed_training|.*_on_cuda)$$
# Further arguments of bench/make_bench.py and bench/perf_check.py.
BENCH_FLAGS  ?=
# A text of your own for `make demo`.
TEXT    ?=

DEPS := $(strip $(DEPS))
WERROR := $(strip $(WERROR))

# Where ccache is installed, what was compiled once, in any clone, is not compiled again.
ifneq ($(shell command -v ccache),)
export CMAKE_C_COMPILER_LAUNCHER ?= ccache
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
endif

# $(call configure,folder,options): CMake's first half. Asks for nothing from the network.
define configure
	@command -v cmake >/dev/null || { echo "cmake is missing: run 'make deps'" >&2; exit 1; }
	@cmake -S . -B $(1) -DVOLTA_WERROR=$(WERROR) $(2) >/dev/null
endef
# $(call build,folder,options): its second half. Own jobserver, so that `make -j` outside does not interfere.
build = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build $(1) -j $(JOBS) $(2)
# $(call run_tests,folder,options): ctest, with failures in full.
run_tests = cd $(1) && ctest --output-on-failure -j $(JOBS) $(2) $(CTEST_FLAGS)

with_gcc   = -DCMAKE_C_COMPILER=$(CC) -DCMAKE_CXX_COMPILER=$(CXX)
with_clang = -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++

# ---- Building ------------------------------------------------------------------------------------------

.PHONY: all deps deps-ci deps-mpi
all: ## build/voltac, libvolta and libvolta_data in both forms, optimised
	$(call configure,build,-DCMAKE_BUILD_TYPE=Release -DVOLTA_TESTS=OFF $(with_gcc))
	@$(call build,build)

deps: ## install what packages.txt lists for building and testing; DEPS=no: do nothing
ifneq ($(DEPS),no)
	@sh tools/install_deps.sh build test demo
endif

deps-ci: ## the same and clang, for .ci/run and `make fuzz`
ifneq ($(DEPS),no)
	@sh tools/install_deps.sh build test demo ci
endif

deps-mpi: ## what the tests of the transport mpi start ranks with
ifneq ($(DEPS),no)
	@sh tools/install_deps.sh mpi
endif

# ---- The two commands of the README ----------------------------------------------------------------------

.PHONY: demo build-voltac test build-tests
build-voltac:
	$(call configure,build,-DCMAKE_BUILD_TYPE=Release -DVOLTA_TESTS=OFF $(with_gcc))
	@$(call build,build,--target voltac)

demo: deps ## train a model on the King James Bible (or TEXT=FILE), save, reload, generate
	@$(MAKE) --no-print-directory build-voltac
	@sh tools/demo.sh $(if $(TEXT),'$(TEXT)')

build-tests:
	$(call configure,build,-DCMAKE_BUILD_TYPE=Release -DVOLTA_TESTS=ON $(with_gcc))
	@$(call build,build)

test: deps ## what every change must pass: under 8 minutes on 2 cores of 2024, from an empty clone
	@$(MAKE) --no-print-directory build-tests
	@$(call run_tests,build,-LE '^nightly$$')

# ---- Tiers: docs/testing.md --------------------------------------------------------------------------------

.PHONY: check test-all nightly release-check
check: build-tests ## the quick part of `make test`, for every few minutes
	@$(call run_tests,build,-LE '^(slow|nightly)$$')

test-all: deps ## every test there is, with all of CUDA on the driver that needs no GPU; half an hour
	@$(MAKE) --no-print-directory build-tests
	@$(call run_tests,build)

nightly: ## everything there is: .ci/nightly, whose stages can be named: STAGES="fuzz coverage"
	@.ci/nightly $(STAGES)

release-check: ## before a release: .ci/release. COUNT=N: another number of repeats than 100
	@COUNT=$(or $(COUNT),100) .ci/release $(STAGES)

# ---- Longer proofs -----------------------------------------------------------------------------------------

.PHONY: sweep determinism determinism-repeats rollback faults fuzz fuzz-import onnx-verify onnx-list parity bindings bindings-check wheel coverage mutants
sweep: build-tests ## all 2^32 inputs of every function on every backend; prints the ulp table
	@sh tools/sweep.sh build $(if $(UPDATE),--update)

determinism: build-tests ## one hash from threads x ISA x tiles x repeats x resume x compilers x -O levels
	@sh tools/determinism.sh build

determinism-repeats: build-voltac ## COUNT (100) processes train and generate: one hash from all threads and instruction sets
	@sh tools/determinism_repeats.sh build $(or $(COUNT),100)

rollback: build-tests ## files of the last release are read, and it reads ours that need nothing newer
	@sh tools/rollback.sh build $(RELEASE)

faults: build-tests ## every allocation refused, every call of the system failed, 10,000 processes killed as they save; POINTS=N: about so many each
	@for campaign in heap allocations io kills; do build/tests/faults/faults . $$campaign $(POINTS) || exit 1; done
	@sh tests/bindings/same_hash.sh $(CURDIR) $(CURDIR)/build
	@python3 -B tests/bindings/refuse.py $(CURDIR) $(CURDIR)/build $(CURDIR)/build/tests/bindings/refuse.so $(POINTS)

fuzz: ## every fuzz target for FUZZ_SECONDS (60), with clang
	$(call configure,build-fuzz,-DCMAKE_BUILD_TYPE=RelWithDebInfo -DVOLTA_FUZZ=ON -DVOLTA_TESTS=OFF $(with_clang) \
	    '-DCMAKE_CXX_FLAGS=-fsanitize=fuzzer-no-link' $(address_sanitizer))
	@$(call build,build-fuzz,--target fuzz_targets)
	@sh tools/fuzz.sh build-fuzz $(FUZZ_SECONDS)

# Of model files the golden ones are seeds too.
fuzz-import: build-tests ## COUNT (a million) changed files per reader of files, each within 1 s and 2x its size + 64 MiB
	@for program in build/fuzz/mutate_*; do name=$${program#build/fuzz/mutate_}; echo "== $$name"; models=; \
	    [ $$name != read_model ] || models=tests/golden/models; \
	    $$program $(or $(COUNT),1000000) $(SEED) fuzz/corpus/$$name $$models || exit 1; done

onnx-verify: build-tests ## ONNX's conformance cases that are here, against tests/onnx/expectations.txt; what is written, by other readers
	@sh tests/onnx/verify.sh build/tests/onnx/onnx_cases
	@python3 tests/onnx/verify_exports.py build/tests/import/onnx_exports; code=$$?; [ $$code -eq 0 ] || [ $$code -eq 77 ]

onnx-list: build-tests ## writes that list; no case may be wrong
	@sh tests/onnx/verify.sh build/tests/onnx/onnx_cases --write

parity: all ## loss curve and gradients against PyTorch, where it is installed
	@python3 tests/parity/parity_gpt.py --library build/libvolta.so
	@python3 tests/parity/parity_gpt.py --library build/libvolta.so --size llama
	@python3 tests/parity/parity_gpt.py --library build/libvolta.so --size llama-pairs
	@for size in masked padded classes; do \
	    python3 tests/parity/parity_bert.py --library build/libvolta.so --size $$size || exit 1; done
	@python3 tests/parity/parity_norms.py
	@python3 tests/parity/parity_networks.py --library build/libvolta.so
	@python3 tests/parity/parity_onnx.py --library build/libvolta.so
	@python3 tests/parity/parity_documents.py || [ $$? -eq 77 ]
	@python3 tests/parity/parity_packing.py || [ $$? -eq 77 ]
	@python3 tests/parity/parity_pairs.py || [ $$? -eq 77 ]
	@python3 tests/parity/parity_minilm.py || [ $$? -eq 77 ]
	@python3 tests/parity/parity_gguf_models.py || [ $$? -eq 77 ]
	@python3 tests/parity/parity_chat.py --library build/libvolta.so || [ $$? -eq 77 ]
	@VOLTA_LIBRARIES=build python3 -B tests/parity/parity_top50.py || [ $$? -eq 77 ]
	@for kind in decoders encoders lora; do \
	    python3 tests/parity/parity_$$kind.py; code=$$?; [ $$code -eq 0 ] || [ $$code -eq 77 ] || exit 1; done
	@python3 tests/parity/parity_tokenizers.py --library build/libvolta.so || [ $$? = 2 ]
	@python3 tests/parity/parity_sentencepiece.py --library build/libvolta.so || [ $$? = 2 ]

xl-verify: build-tests ## training in less memory and by several processes: budgets, updates in the backward pass, shards, groups, GPT-2 XL in 16 GiB; about 15 minutes
	@$(call run_tests,build,-R '^(test_(activation_budget|training_memory|training_xl|shards|exchange|group_failures.*|mpi_.*)|voltac_launch|ranks_(one_result_whole|on_hosts|killed))$$')

group-kills: build-tests ## KILLS (1000) ranks killed at random moments, of real processes and of the transport between threads; each run goes on to the same hash
	@python3 -B tests/group/kills.py build/voltac --kills $(or $(KILLS),1000) --seed $(or $(SEED),1)
	@build/tests/api/test_shards kills $(or $(KILLS),1000) $(or $(SEED),1)

bindings: ## what is printed of the public headers for bindings and the manual, written anew
	@python3 -B tools/describe_api.py --write && python3 -B tools/print_bindings.py --write && python3 -B tools/print_reference.py --write

bindings-check: build-tests ## the same program in every language gives one hash; each binding's own tests
	@$(call run_tests,build,-L '^bindings$$')

wheel: all ## build/wheel/volta-*-py3-none-linux_x86_64.whl: the Python binding with both libraries in it
	@python3 -m pip wheel --quiet --no-deps --wheel-dir build/wheel bindings/python
	@ls build/wheel/*.whl

coverage: ## line coverage of the tests, per folder; at least COVERAGE_MIN per cent of all lines, and COVERAGE_FOLDERS
	$(call configure,build-coverage,-DCMAKE_BUILD_TYPE=Release -DVOLTA_TESTS=ON -DVOLTA_COVERAGE=ON $(with_gcc))
	@$(call build,build-coverage)
	@find build-coverage -name '*.gcda' -delete
	@$(call run_tests,build-coverage,-LE '^(binary|nightly|memcheck)$$' --quiet) || true
	@$(call run_tests,build-coverage,-L '^nightly$$' -R '$(COVERAGE_ALSO)' -E '^test_backend_on_cuda$$' --quiet) || true
	@sh tools/coverage.sh --least $(COVERAGE_MIN) $(foreach folder,$(COVERAGE_FOLDERS),--folder '$(folder)') build-coverage

mutants: ## which tests notice the planted faults: today's sixth; ALL=1: all of them, within 90 minutes
	@python3 -B tools/mutants.py $(if $(ALL),--all) --jobs $(JOBS)

# ---- Speed: docs/benchmarks.md --------------------------------------------------------------------------------

.PHONY: deps-bench build-bench-programs bench perf-check
deps-bench: ## the same and the libraries that Volta is compared with, for `make bench`
ifneq ($(DEPS),no)
	@sh tools/install_deps.sh build bench
endif

build-bench-programs: deps-bench
	$(call configure,build-bench,-DCMAKE_BUILD_TYPE=Release -DVOLTA_TESTS=OFF -DVOLTA_BENCH=ON $(with_gcc))
	@$(call build,build-bench)

bench: build-bench-programs ## every benchmark, written into docs/benchmarks.md; QUICK=1: short lists
	@python3 -B bench/make_bench.py $(if $(QUICK),--quick) $(BENCH_FLAGS)

perf-check: build-bench-programs ## ratios to other libraries against bench/baseline.json; UPDATE=1 writes it
	@python3 -B bench/perf_check.py --programs build-bench/bench $(if $(UPDATE),--update) $(BENCH_FLAGS)

# ---- On a GPU: docs/cuda.md --------------------------------------------------------------------------------------

# FOLDER=PATH: binaries that are there already; nothing is built. STEPS: of training, compared with the processor.
STEPS ?= 200
cuda_programs = --target volta --target volta_cuda --target voltac --target test_backend --target cuda_check

.PHONY: cuda-check cuda-bundle cuda-verify cuda-compilers build-cuda-check
build-cuda-check:
ifeq ($(FOLDER),)
	$(call configure,build,-DCMAKE_BUILD_TYPE=Release -DVOLTA_TESTS=ON $(with_gcc))
	@$(call build,build,$(cuda_programs) $(if $(FAKE),--target fake_cuda_ready))
endif

cuda-check: build-cuda-check ## what CUDA promises, tried on this machine's GPU; STEPS=1000: longer; FAKE=1: without one
	@sh tools/cuda_check.sh $(if $(FAKE),--fake) --steps $(STEPS) $(or $(FOLDER),build)

cuda-verify: build-tests ## inference, training and replay on CUDA, and no silent fallback; emulated where there is no GPU
	@sh tools/cuda_verify.sh build

cuda-compilers: build-tests ## generated CUDA by the real NVRTC and ptxas (from PyPI, else the toolkit's); registers and spills
	@sh tools/cuda_compilers.sh build

cuda-bundle: build-cuda-check ## build/cuda_bundle: what `cuda_check.sh FOLDER` needs on a machine without compilers
	@rm -rf build/cuda_bundle && mkdir build/cuda_bundle
	@cp -L build/libvolta.so.1 build/libvolta_cuda.so.1 build/voltac build/tests/cuda/cuda_check \
	    build/tests/runtime/test_backend tests/golden/function_hashes.txt tools/cuda_check.sh bench/cuda_peers.py \
	    tests/parity/gpt_torch.py build/cuda_bundle/
	@du -sh build/cuda_bundle

# ---- Other compilers and sanitizers ------------------------------------------------------------------------

# Sanitizers. The generated code itself is not instrumented; everything that hands memory to it is. -O1 -g1: what they look
# for does not depend on the level, and reports need lines, not variables. AddressSanitizer comes with clang, so that one
# build of everything is also the second compiler's, with its warnings; in gcc they give 12 false warnings about sizes.
comma := ,
sanitized = -DCMAKE_BUILD_TYPE=None '-DCMAKE_C_FLAGS=-O1 -g1' '-DCMAKE_CXX_FLAGS=-O1 -g1' -DVOLTA_TESTS=ON
address_sanitizer = '-DVOLTA_SANITIZE=address$(comma)undefined;-fno-sanitize=function'
address_options = export ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1 \
    UBSAN_OPTIONS=print_stacktrace=1

.PHONY: clang build-asan asan asan-gcc replay tidy tsan memcheck
clang: ## the tests of `make test` by clang, optimised; ALL=1: all tests
	$(call configure,build-clang,-DCMAKE_BUILD_TYPE=Release -DVOLTA_TESTS=ON $(with_clang))
	@$(call build,build-clang)
	@$(call run_tests,build-clang,$(if $(ALL),,-LE '^nightly$$'))

build-asan:
	$(call configure,build-asan,$(sanitized) $(with_clang) $(address_sanitizer))
	@$(call build,build-asan)

asan: build-asan ## the quick tests under AddressSanitizer and UndefinedBehaviorSanitizer, everything built by clang
	@$(address_options); $(call run_tests,build-asan,-LE '^(slow|nightly|binary|replay|architecture|bench)$$')

replay: ## every corpus of the fuzzers, by the same build
	$(call configure,build-asan,$(sanitized) $(with_clang) $(address_sanitizer))
	@$(call build,build-asan,--target replay_programs)
	@$(address_options); $(call run_tests,build-asan,-L '^replay$$' --no-tests=error)

tidy: build-asan ## clang-tidy on what changed since the commit in .ci/tidy_base; ALL=1: on the whole tree
	@JOBS=$(JOBS) sh tools/tidy.sh build-asan $(if $(ALL),all)

asan-gcc: ## the same sanitizers by gcc, with the slow tests of `make test` too, and whole what is sampled there
	$(call configure,build-asan-gcc,$(sanitized) -DVOLTA_WERROR=OFF $(with_gcc) -DVOLTA_SANITIZE=address$(comma)undefined)
	@$(call build,build-asan-gcc)
	@$(address_options); $(call run_tests,build-asan-gcc,-LE '^(nightly|binary|architecture|bench)$$')
	@$(address_options); $(call run_tests,build-asan-gcc,-L '^sanitized$$' --no-tests=error)

memcheck: build-tests ## tests of the interface and of files under valgrind: reads of what nobody wrote, leaks; an hour
	@$(call run_tests,build,-L '^memcheck$$' --no-tests=error)

tsan: ## the threaded tests (label tsan) under ThreadSanitizer; ALL=1: whole those that are sampled
	$(call configure,build-tsan,$(sanitized) -DVOLTA_WERROR=OFF $(with_gcc) -DVOLTA_SANITIZE=thread)
	@$(call build,build-tsan,--target tsan_tests)
	@sh tools/without_aslr.sh sh -c "$(call run_tests,build-tsan,-L tsan $(if $(ALL),,-LE nightly) --no-tests=error)"

.PHONY: emulate
emulate: ## voltac doctor, or PROGRAMS below build, on an emulated processor with AVX-512; some minutes
ifneq ($(DEPS),no)
	@sh tools/install_deps.sh build emulate
endif
	@$(MAKE) --no-print-directory $(if $(findstring tests/,$(PROGRAMS)),build-tests,all)
	@sh tools/emulate_avx512.sh build $(PROGRAMS)

# ---- Keeping house ------------------------------------------------------------------------------------------

# include/volta.h is laid out by hand: its columns are part of the manual.
sources = find engine jitgen data cli tests fuzz examples bench -path '*/fixtures' -prune -o -name layout.c -prune -o \
    \( -name '*.h' -o -name '*.c' -o -name '*.cpp' \) -print 2>/dev/null

.PHONY: format format-check docs docs-check docs-tables install uninstall dist deps-deb deb trial abi clean help
format: ## lay out the sources with clang-format
	@$(sources) | xargs clang-format -i

format-check: ## fail if `make format` would change anything
	@clang-format --version
	@$(sources) | xargs clang-format --dry-run -Werror

docs: ## the manual as a site that needs no network, build/docs/site/index.html; every link is checked
ifneq ($(DEPS),no)
	@sh tools/install_deps.sh docs
endif
	@python3 -B tools/make_manual.py

docs-check: ## dead links, unknown commands, missing files and private words in the documentation
	@sh tests/architecture/check_docs.sh .
	@python3 -B tests/docs/run_blocks.py
	@sh tests/architecture/check_words.sh .

docs-tables: build-tests ## print the documentation's generated tables and pages
	@cp build/manual/commands.md docs/commands.md
	@sh tests/architecture/check_tables.sh $$(find build -name print_tables -type f) . --write

install: ## libraries, headers, pkg-config and CMake files, voltac, its manual and completions below PREFIX (/usr/local)
	$(call configure,build,-DCMAKE_BUILD_TYPE=Release -DVOLTA_TESTS=OFF '-DCMAKE_INSTALL_PREFIX=$(PREFIX)' $(with_gcc))
	@$(call build,build)
	@DESTDIR='$(DESTDIR)' cmake --install build

dist: ## build-dist/volta-VERSION.tar.gz: the source of the commit, the same bytes wherever it is made
	@sh tools/dist.sh build-dist

deps-deb: ## install what `make deb` needs
ifneq ($(DEPS),no)
	@sh tools/install_deps.sh build deb
endif

deb: ## build-deb/*.deb of the commit, for this distribution; judged by lintian where it is installed
	@JOBS=$(JOBS) sh tools/deb.sh build-deb

trial: deb ## the lines of docs/install.md in empty roots of Debian (SUITES="bookworm trixie"), for each language; needs root
ifneq ($(DEPS),no)
	@sh tools/install_deps.sh trial
endif
	@mkdir -p build-trial && cp build-deb/*.deb build-trial && sh tools/dist.sh build-trial >/dev/null
	@for suite in $(or $(SUITES),bookworm trixie); do sh tools/trial.sh $$suite build-trial build-trial || exit 1; done

abi: ## what the headers say now is promised from now on (docs/abi.md): part of a release
	@python3 -B tools/check_abi.py --write && sh tests/abi/abi_diff.sh . $(CC) --write

uninstall: ## remove what the last `make install` of this folder put there
	@sh tools/uninstall.sh build '$(DESTDIR)'

clean: ## remove every build folder
	rm -rf build build-*

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
