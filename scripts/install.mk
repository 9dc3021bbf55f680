# The library and what is installed; included by the Makefile.
#   lib        libgradgate, shared and static: exports what harness/gradgate.h declares
#   install    program, library, headers, suites, man page, completion, recipes, examples
#   uninstall
# Variables: PREFIX=/usr/local  LIBDIR=lib (below PREFIX)  DESTDIR= (put before all)
# The program and the library find their files from where they lie, so a prefix can be
# moved as a whole; the pkg-config file too.

PREFIX ?= /usr/local
LIBDIR ?= lib
SONAME := libgradgate.so.$(firstword $(subst ., ,$(VERSION)))
SHARED := $(BUILD)/libgradgate.so.$(VERSION)
ARCHIVE := $(BUILD)/libgradgate.a
COMPLETION := $(addprefix $(BUILD)/completion.,bash zsh fish)
root = $(DESTDIR)$(PREFIX)
data = $(root)/share/gradgate

.PHONY: lib install stage uninstall
lib: $(SHARED) $(ARCHIVE)

# The functions that the header marks GG_API, one a line.
$(BUILD)/exports: harness/gradgate.h
	@mkdir -p $(@D)
	@sed -n 's/^GG_API .*[ *]\(gg_[a-z_]*\)(.*/\1/p' $< > $@

$(BUILD)/exports.map: $(BUILD)/exports
	@{ echo "GRADGATE_$(firstword $(subst ., ,$(VERSION))) { global:"; \
	    sed 's/$$/;/' $<; echo "local: *; };"; } > $@

$(SHARED): $(OBJECTS) $(BUILD)/exports.map
	@echo "  link $@"
	@$(LINK) -shared -o $@ $(OBJECTS) -Wl,-soname,$(SONAME) -Wl,-z,defs \
	    -Wl,--version-script,$(BUILD)/exports.map $(LIBS)
	@ln -sf $(@F) $(BUILD)/$(SONAME)
	@ln -sf $(SONAME) $(BUILD)/libgradgate.so

# One object in which only the same functions are visible.
$(ARCHIVE): $(OBJECTS) $(BUILD)/exports
	@echo "  ar   $@"
	@ld -r -o $(BUILD)/libgradgate.o $(OBJECTS)
	@objcopy --keep-global-symbols=$(BUILD)/exports $(BUILD)/libgradgate.o
	@rm -f $@
	@ar rcs $@ $(BUILD)/libgradgate.o

$(BUILD)/gradgate.1: $(BUILD)/gradgate
	@$< help --man > $@

$(COMPLETION): $(BUILD)/completion.%: $(BUILD)/gradgate
	@$< help --completion $* > $@

# pcfiledir: the folder of the file itself, so that a moved prefix is found.
$(BUILD)/gradgate.pc: scripts/install.mk $(BUILD)/build_identity.h
	@{ echo 'prefix=$${pcfiledir}/$(shell echo $(LIBDIR)/pkgconfig | sed 's|[^/]*|..|g')'; \
	echo 'libdir=$${prefix}/$(LIBDIR)'; \
	echo 'includedir=$${prefix}/include'; \
	echo 'datadir=$${prefix}/share/gradgate'; \
	echo; \
	echo 'Name: gradgate'; \
	echo 'Description: judges the gradients of GPU kernels; needs <dlpack/dlpack.h>'; \
	echo 'Version: $(VERSION)'; \
	echo 'Cflags: -I$${includedir}'; \
	echo 'Libs: -L$${libdir} -lgradgate'; \
	echo 'Libs.private: $(LIBS)$(if $(filter 1,$(CUDA)), -lstdc++)'; } > $@

install: all lib $(BUILD)/gradgate.1 $(COMPLETION) $(BUILD)/gradgate.pc
	@echo "  install $(root)"
	@install -d $(root)/bin $(root)/$(LIBDIR)/pkgconfig $(root)/include/gradgate \
	    $(data)/suites $(data)/golden $(root)/share/man/man1 \
	    $(root)/share/bash-completion/completions $(root)/share/zsh/site-functions \
	    $(root)/share/fish/vendor_completions.d
	@install -m 755 $(BUILD)/gradgate $(root)/bin/gradgate
	@install -m 755 $(SHARED) $(root)/$(LIBDIR)
	@ln -sf $(notdir $(SHARED)) $(root)/$(LIBDIR)/$(SONAME)
	@ln -sf $(SONAME) $(root)/$(LIBDIR)/libgradgate.so
	@install -m 644 $(ARCHIVE) $(root)/$(LIBDIR)
	@install -m 644 $(BUILD)/gradgate.pc $(root)/$(LIBDIR)/pkgconfig
	@for header in kernels/abi.h harness/gradgate.h; do \
	    sed 's|#include "kernels/abi.h"|#include <gradgate/abi.h>|' $$header \
	        > $(root)/include/gradgate/$${header##*/} || exit 1; \
	    chmod 644 $(root)/include/gradgate/$${header##*/}; done
	@install -m 644 cases/suites/*.json $(data)/suites
	@install -m 644 cases/golden/*.txt $(data)/golden
	@install -m 644 $(BUILD)/gradgate.1 $(root)/share/man/man1
	@install -m 644 $(BUILD)/completion.bash $(root)/share/bash-completion/completions/gradgate
	@install -m 644 $(BUILD)/completion.zsh $(root)/share/zsh/site-functions/_gradgate
	@install -m 644 $(BUILD)/completion.fish \
	    $(root)/share/fish/vendor_completions.d/gradgate.fish
	@install -m 644 scripts/tutorial.md $(data)
	@cd scripts && for folder in ci examples peers slurm; do \
	    [ -d $$folder ] || continue; \
	    find $$folder -type f ! -name '*.so' ! -name '*.o' ! -name '*.pyc' \
	        -exec install -D -m 644 {} $(data)/{} \; ; \
	done
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || ldconfig 2>/dev/null || true

# For harness/install_test.sh.
stage: override DESTDIR = $(abspath $(BUILD))/stage
stage: override PREFIX = /opt/gradgate
stage: install

uninstall:
	rm -f $(root)/bin/gradgate $(root)/$(LIBDIR)/libgradgate.a \
	    $(root)/$(LIBDIR)/libgradgate.so $(root)/$(LIBDIR)/libgradgate.so.[0-9]* \
	    $(root)/$(LIBDIR)/pkgconfig/gradgate.pc $(root)/share/man/man1/gradgate.1 \
	    $(root)/share/bash-completion/completions/gradgate \
	    $(root)/share/zsh/site-functions/_gradgate \
	    $(root)/share/fish/vendor_completions.d/gradgate.fish
	rm -rf $(root)/include/gradgate $(data)
