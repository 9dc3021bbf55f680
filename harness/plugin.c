/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/plugin.h"

#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/environment.h"
#include "harness/exec.h"

enum { LOAD_SECONDS = 60, MOST_KERNELS = 256 };

/* Where the file's name ends: before ":NAME", if there is one. */
static size_t path_length(const char *text)
{
    const char *slash = strrchr(text, '/');
    const char *colon = strrchr(slash != NULL ? slash : text, ':');
    return colon != NULL ? (size_t)(colon - text) : strlen(text);
}

bool gg_plugin_named(const char *text)
{
    size_t length = path_length(text);
    const char *so = strstr(text, ".so");
    if (gg_exec_named(text)) return false;
    return memchr(text, '/', length) != NULL || (so != NULL && so < text + length);
}

static gg_status refuse(const char *origin, const gg_kernel *kernel, const char *what)
{
    return gg_fail(GG_BAD_INPUT, "%s: kernel %.64s: %s (see abi.h)", origin, kernel->name, what);
}

/* A name goes into reports, file names and command lines. */
static bool good_name(const char *name)
{
    size_t length = strnlen(name, 64);
    if (length == 0 || length >= 64) return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && strchr("_.+-", name[i]) == NULL) return false;
    return true;
}

/* A kernel names its tensors: they must be the operator's, in its order. */
static gg_status check_tensors(const gg_kernel *kernel, const gg_operator *op,
                               const char *origin)
{
    for (int side = 0; side < 2; side++) {
        const gg_tensor_decl *decls = side ? op->outputs : op->inputs;
        const char *const *names = side ? kernel->outputs : kernel->inputs;
        int i = 0;
        while (decls[i].name != NULL && names[i] != NULL &&
               strcmp(decls[i].name, names[i]) == 0)
            i++;
        if (decls[i].name != NULL || names[i] != NULL)
            return gg_fail(GG_BAD_INPUT, "%s: kernel %s: %s %d is '%.32s', operator %s has "
                           "'%s' there", origin, kernel->name, side ? "output" : "input", i,
                           names[i] ? names[i] : "(none)", op->name,
                           decls[i].name ? decls[i].name : "(none)");
    }
    int results = 0;
    while (op->outputs[results].name != NULL && op->outputs[results].role == GG_ROLE_RESULT)
        results++;
    if (kernel->forward_outputs == results) return GG_OK;
    return gg_fail(GG_BAD_INPUT, "%s: kernel %s: forward_outputs is %d, forward of operator "
                   "%s has %d", origin, kernel->name, kernel->forward_outputs, op->name,
                   results);
}

static gg_status check_limits(const gg_kernel *kernel, const gg_operator *op,
                              const char *origin)
{
    if (kernel->limits == NULL) return GG_OK;
    if (kernel->limits_note == NULL || kernel->limits_note[0] == '\0')
        return refuse(origin, kernel, "limits without limits_note: say where they come from");
    for (int o = 0; op->outputs[o].name != NULL; o++) {
        const gg_limits *l = &kernel->limits[o];
        if (l->rmse_over_floor < 0 || l->gauge_p99 < 0 || l->gauge_max < 0 || l->rmse_f32 < 0)
            return refuse(origin, kernel, "a limit is negative");
    }
    return GG_OK;
}

static gg_status check_features(const gg_kernel *kernel, const char *origin)
{
    for (int i = 0; kernel->features != NULL && kernel->features[i].name != NULL; i++) {
        if (i == 64) return refuse(origin, kernel, "more than 64 features");
        if (!good_name(kernel->features[i].name) || kernel->features[i].summary == NULL)
            return refuse(origin, kernel, "a feature has no proper name or no summary");
    }
    return GG_OK;
}

gg_status gg_kernel_check(const gg_kernel *kernel, const char *origin)
{
    /* nothing behind the first two members is where we think before these agree */
    if (kernel->abi_version != GG_ABI_VERSION)
        return gg_fail(GG_BAD_INPUT, "%s was built for version %u of the kernel ABI, this is "
                       "version %u: build it again with this gradgate's header", origin,
                       kernel->abi_version, GG_ABI_VERSION);
    if (kernel->struct_bytes != sizeof *kernel)
        return gg_fail(GG_BAD_INPUT, "%s has a gg_kernel of %u bytes, here it has %zu: set "
                       "struct_bytes to sizeof(gg_kernel) and build it again with this "
                       "gradgate's header", origin, kernel->struct_bytes, sizeof *kernel);
    if (kernel->name == NULL || !good_name(kernel->name))
        return gg_fail(GG_BAD_INPUT, "%s: a kernel's name is not 1 to 63 letters, digits or "
                       "_ . + -", origin);
    if (kernel->operator_name == NULL || kernel->summary == NULL || kernel->inputs == NULL ||
        kernel->outputs == NULL)
        return refuse(origin, kernel, "operator_name, summary, inputs or outputs is NULL");
    if (kernel->forward == NULL || kernel->backward == NULL)
        return refuse(origin, kernel, "forward or backward is NULL");
    if (kernel->device != kDLCPU && kernel->device != kDLCUDA)
        return refuse(origin, kernel, "device is neither kDLCPU nor kDLCUDA");
    if (kernel->repeat != GG_REPEAT_NOT_GUARANTEED && kernel->repeat != GG_REPEAT_RUN_TO_RUN)
        return refuse(origin, kernel, "repeat is no gg_repeat");
    const gg_operator *op = gg_operator_find(kernel->operator_name);
    if (op == NULL)
        return gg_fail(GG_BAD_INPUT, "%s: kernel %s is of operator '%.64s', which is not known: "
                       "see 'gradgate list operators'", origin, kernel->name,
                       kernel->operator_name);
    GG_TRY(check_tensors(kernel, op, origin));
    GG_TRY(check_features(kernel, origin));
    return check_limits(kernel, op, origin);
}

/* An object built for fast arithmetic flushes subnormals to zero as soon as it is there. */
static void *open_object(const char *path)
{
    fenv_t ours;
    fegetenv(&ours);
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    fesetenv(&ours);
    return object;
}

/* Loads and checks; the message is in gg_message(). */
static gg_status load(gg_plugin *plugin)
{
    void *object = open_object(plugin->path);
    if (object == NULL) {
        char text[400];
        snprintf(text, sizeof text, "%s", dlerror());
        text[strcspn(text, "\n")] = '\0';
        return gg_fail(GG_BAD_INPUT, "cannot load %s: %s", plugin->path, text);
    }
    gg_plugin_entry *entry;
    *(void **)&entry = dlsym(object, GG_PLUGIN_ENTRY); /* as POSIX has it */
    if (entry == NULL)
        return gg_fail(GG_BAD_INPUT, "%s has no symbol '%s': end it with GG_PLUGIN(&kernel); "
                       "(see abi.h)", plugin->path, GG_PLUGIN_ENTRY);
    plugin->kernels = entry();
    if (plugin->kernels == NULL || plugin->kernels[0] == NULL)
        return gg_fail(GG_BAD_INPUT, "%s brings no kernel", plugin->path);
    for (int i = 0; plugin->kernels[i] != NULL; i++) {
        const gg_kernel *k = plugin->kernels[i];
        if (i == MOST_KERNELS)
            return gg_fail(GG_BAD_INPUT, "%s: its list of kernels does not end in NULL",
                           plugin->path);
        GG_TRY(gg_kernel_check(k, plugin->path));
        for (int j = 0; j < i; j++)
            if (plugin->kernels[j]->device == k->device &&
                strcmp(plugin->kernels[j]->name, k->name) == 0 &&
                strcmp(plugin->kernels[j]->operator_name, k->operator_name) == 0)
                return refuse(plugin->path, k, "comes twice");
    }
    return GG_OK;
}

/* Does loading end the process? Its own code runs when it is loaded, and what it points
 * at may be nonsense. Whether it is a good plug-in is found by loading it here. */
static gg_status try_in_child(gg_plugin *plugin)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return gg_fail(GG_IO, "cannot start a process to load %s", plugin->path);
    if (child == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        signal(SIGALRM, SIG_DFL);
        alarm(LOAD_SECONDS);
        (void)load(plugin);
        _exit(42);
    }
    while (waitpid(child, &status, 0) < 0) { }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 42) return GG_OK;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return gg_fail(GG_BAD_INPUT, "%s was not loaded within %d s", plugin->path,
                       LOAD_SECONDS);
    return gg_fail(GG_BAD_INPUT, "%s ends the process that loads it (%s %d)", plugin->path,
                   WIFSIGNALED(status) ? "signal" : "exit status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

gg_status gg_plugin_open(const char *text, gg_plugin *plugin)
{
    size_t length = path_length(text);
    struct stat there;
    *plugin = (gg_plugin){.wanted = text[length] == ':' ? text + length + 1 : NULL};
    /* without a slash, dlopen would search the system's folders */
    int used = snprintf(plugin->path, sizeof plugin->path, "%s%.*s",
                        memchr(text, '/', length) ? "" : "./", (int)length, text);
    if (used < 0 || (size_t)used >= sizeof plugin->path)
        return gg_fail(GG_BAD_INPUT, "the path of the shared object is too long");
    if (stat(plugin->path, &there) != 0 || !S_ISREG(there.st_mode))
        return gg_fail(GG_BAD_INPUT, "--kernel %s: there is no such file", plugin->path);
    GG_TRY(gg_file_digest(plugin->path, &plugin->digest));
    GG_TRY(try_in_child(plugin));
    return load(plugin);
}

gg_status gg_plugin_choose(const gg_plugin *plugin, const gg_operator *op,
                           DLDeviceType device, const gg_kernel **kernel)
{
    char known[400] = "";
    size_t used = 0;
    int fitting = 0;
    *kernel = NULL;
    for (int i = 0; plugin->kernels[i] != NULL; i++) {
        const gg_kernel *k = plugin->kernels[i];
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s %s of %s on %s",
                                     i ? "," : "", k->name, k->operator_name,
                                     k->device == kDLCPU ? "host" : "cuda");
        if (k->device != device || strcmp(k->operator_name, op->name) != 0) continue;
        if (plugin->wanted != NULL && strcmp(k->name, plugin->wanted) != 0) continue;
        if (fitting++ == 0) *kernel = k;
    }
    if (fitting == 1) return GG_OK;
    if (fitting > 1)
        return gg_fail(GG_BAD_INPUT, "%s has several kernels: say which, as %s:NAME; it has%s",
                       plugin->path, plugin->path, known);
    return gg_fail(GG_BAD_INPUT, "%s has no kernel %s%sof operator %s on this device; it has%s",
                   plugin->path, plugin->wanted ? plugin->wanted : "",
                   plugin->wanted ? " " : "", op->name, known);
}
