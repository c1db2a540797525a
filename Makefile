# SPDX-License-Identifier: Apache-2.0
#
# make            build/oomsnoop
# make static     build/oomsnoop-static: no shared library at all, stripped
# make image      build/oomsnoop-image.tar: a container image with nothing but that and its licences
# make demo       installs what is missing, builds, makes one contained OOM kill, shows the record
# make check      installs what is missing, builds, runs every test; last line "N passed, N failed"
# make check-long proofs that take longer
# make check-kubelet  oomsnoop as a pod of a real kubelet, which is built first: a quarter of an hour
# make unit | e2e | vm | lint | bench | install | clean

VERSION := 0.1.0
B ?= build
PREFIX ?= /usr/local

CC ?= cc
CLANG ?= clang
BPFTOOL ?= $(shell command -v bpftool || echo /usr/sbin/bpftool)
ARCH := $(shell uname -m | sed -e s/x86_64/x86/ -e s/aarch64/arm64/)

# What builds a lot does so on all CPUs, whether make was given -j or not.
JOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

# V=1 shows the commands.
Q := $(if $(V),,@)

WARN := -Wall -Wextra -Werror -Wformat=2 -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wundef -Wvla -Wno-format-nonliteral
CPPFLAGS := -D_GNU_SOURCE -DOOMSNOOP_VERSION='"$(VERSION)"' -Iuser -Ibpf -I$(B)
CFLAGS ?= -O2 -g
CFLAGS += -std=gnu17 -fno-omit-frame-pointer $(WARN)
LDLIBS := -lbpf -lelf -lz -llzma -lzstd -lcap-ng -lsqlite3 -ljansson -lm -pthread

# The object that defines the maps goes first: bpftool's linker takes their place from the first mention.
BPF_SRCS := bpf/state.bpf.c $(filter-out bpf/state.bpf.c,$(wildcard bpf/*.bpf.c))
BPF_OBJS := $(BPF_SRCS:%.c=$(B)/%.o)
SKEL := $(B)/oomsnoop.skel.h

# Everything but main.c is a library that the unit tests link, too.
USER_SRCS := $(filter-out user/main.c,$(wildcard user/*/*.c))
USER_OBJS := $(USER_SRCS:%.c=$(B)/%.o)
# What the report page embeds. uPlot comes from npm, once for builds into all directories; without it the page has no zoom.
PAGE ?= build/page
USER_OBJS += $(B)/page/assets.o
# What needs neither libbpf nor the skeleton: all that is tested without root.
BPF_USER := user/source/loader.c user/source/ring.c user/source/probe.c user/source/census.c \
	user/source/arm.c
PURE_OBJS := $(filter-out $(BPF_USER:%.c=$(B)/%.o) $(B)/user/cmd/%.o,$(USER_OBJS)) $(B)/user/cmd/filter.o \
	$(B)/user/cmd/when.o $(B)/user/cmd/clock.o $(B)/user/cmd/select.o $(B)/user/cmd/need.o
PURE_LIB := $(B)/liboomsnoop-pure.a

all: $(B)/oomsnoop

# --- the kernel side ---
$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h) vmlinux/$(ARCH)/vmlinux.h
	@mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter \
		-Wno-missing-declarations -D__TARGET_ARCH_$(ARCH) -Ivmlinux/$(ARCH) -Ibpf -c $< -o $@

$(B)/oomsnoop.bpf.o: $(BPF_OBJS)
	$(Q)$(BPFTOOL) gen object $@ $^

$(SKEL): $(B)/oomsnoop.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name oomsnoop > $@.tmp && mv $@.tmp $@

# --- user space ---
$(B)/user/%.o: user/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(BPF_USER:%.c=$(B)/%.o): $(SKEL)

# Tried again where npm was not there and now is.
$(PAGE)/stamp: tools/page/package.json tools/page/package-lock.json tools/page/fetch \
		$(if $(wildcard $(PAGE)/no-npm),$(shell command -v npm >/dev/null && echo again))
	$(Q)tools/page/fetch $(@D)

$(B)/page/assets.c: user/sink/page/page.css user/sink/page/page.js tools/page/embed $(PAGE)/stamp
	@mkdir -p $(@D)
	$(Q)tools/page/embed user/sink/page/page.css user/sink/page/page.js $(PAGE) > $@

$(B)/page/assets.o: $(B)/page/assets.c user/sink/html_parts.h
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(B)/oomsnoop: $(USER_OBJS) $(B)/user/main.o
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

static: $(B)/oomsnoop-static
$(B)/oomsnoop-static: $(USER_OBJS) $(B)/user/main.o
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -static -Wl,--gc-sections,--no-warnings,-Map=$@.map -o $@ $^ $(LDLIBS)
	$(Q)strip $@

# A container image of it: for `docker load`, `podman load`, `ctr images import` and skopeo.
image: $(B)/oomsnoop-image.tar
$(B)/oomsnoop-image.tar: $(B)/oomsnoop-static packaging/container/build
	$(Q)packaging/container/build $(B)/oomsnoop-static $(VERSION) $@

# --- tests ---
UNIT_SRCS := $(wildcard tests/unit/test_*.c)
UNIT_BINS := $(UNIT_SRCS:tests/unit/%.c=$(B)/tests/unit/%)
$(PURE_LIB): $(PURE_OBJS)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(B)/tests/unit/%: tests/unit/%.c $(PURE_LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Itests/unit $(CFLAGS) -MMD -MP -o $@ $< $(PURE_LIB) -lcmocka -ljansson -lcap-ng -lsqlite3 -lz -llzma -lzstd -lm -pthread

$(B)/tests/page/make_page: tests/page/make_page.c $(PURE_LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Itests/unit $(CFLAGS) -MMD -MP -o $@ $< $(PURE_LIB) -lcmocka -ljansson -lsqlite3 -lz -llzma -lzstd -lm -pthread

page-tool: $(B)/tests/page/make_page

WORKLOADS := $(patsubst tests/workloads/%.c,$(B)/tests/workloads/%,$(wildcard tests/workloads/*.c))
$(B)/tests/workloads/%: tests/workloads/%.c tests/workloads/workload.h
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -static -D_GNU_SOURCE $(WARN) -o $@ $<

workloads: $(WORKLOADS)
unit-bins: $(UNIT_BINS)

# A second build of the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer.
# Lines are all that a report needs of debug information, and half the time of the compiler is in more.
SAN_FLAGS := -Og -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined

unit: unit-bins
	tests/unit/run $(UNIT_BINS)

unit-san:
	+$(MAKE) --no-print-directory $(JOBS) B=$(B)/san CFLAGS="$(SAN_FLAGS)" unit-bins
	tests/unit/run $(UNIT_SRCS:tests/unit/%.c=$(B)/san/tests/unit/%)

# Every pure source again, watched by libFuzzer: tests/fuzz/run.
FUZZ_OBJS := $(patsubst $(B)/%,$(B)/fuzz/%,$(PURE_OBJS))
.SECONDARY: $(FUZZ_OBJS)
FUZZ_FLAGS := -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
$(B)/fuzz/user/%.o: user/%.c
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS) -std=gnu17 $(FUZZ_FLAGS) -MMD -MP -c $< -o $@

$(B)/fuzz/page/assets.o: $(B)/page/assets.o
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(B)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_OBJS)
	$(Q)$(CLANG) $(CPPFLAGS) -std=gnu17 -Wall -Wextra -Werror $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ \
		-ljansson -lcap-ng -lsqlite3 -lz -llzma -lzstd -lm -pthread

lint: $(B)/oomsnoop unit-bins workloads
	tools/lint

demo:
	tools/install-deps build
	+$(MAKE) --no-print-directory $(JOBS) $(B)/oomsnoop $(B)/tests/workloads/cow
	tools/demo

check:
	tools/install-deps check
	+$(MAKE) --no-print-directory $(JOBS) all static image workloads unit-bins page-tool
	tests/check

check-long:
	tools/install-deps check
	+$(MAKE) --no-print-directory $(JOBS) all static workloads unit-bins
	tests/check-long

.PHONY: check-kubelet
check-kubelet:
	tools/install-deps kubelet
	+$(MAKE) --no-print-directory image workloads
	tests/kubelet/run

bench:
	tools/install-deps bench
	+$(MAKE) --no-print-directory $(JOBS) all static workloads $(PURE_LIB)
	tools/bench/run

install: $(B)/oomsnoop
	install -D -m 0755 $(B)/oomsnoop $(DESTDIR)$(PREFIX)/sbin/oomsnoop
	install -D -m 0644 docs/oomsnoop.8 $(DESTDIR)$(PREFIX)/share/man/man8/oomsnoop.8
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/local|$(PREFIX)|g' packaging/oomsnoop.service >$(DESTDIR)$(PREFIX)/lib/systemd/system/oomsnoop.service

clean:
	rm -rf $(B)

-include $(USER_OBJS:.o=.d) $(FUZZ_OBJS:.o=.d) $(UNIT_BINS:=.d)
.PHONY: again page-tool all static image workloads unit-bins unit unit-san lint demo check check-long bench install clean
.DELETE_ON_ERROR:
