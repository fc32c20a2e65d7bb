/* A pretend libnvidia-ml.so.1. What it shows is chosen by environment variables:
 *
 * FAKE_NVML        two (default): a 3090 listed before a 1660, against the order of their buses;
 *                  vgpu: a slice of a card whose memory is not told;
 *                  twins: two cards of one name; unified: a GB10 whose memory is "not supported"; mig: one card cut
 *                  in two; migempty: in MIG mode without instances; sized: like two, and every process has its size;
 *                  mismatch, notloaded: init fails
 * FAKE_NVML_LOST   a file: while it exists, card 0 answers "GPU is lost"
 * FAKE_NVML_LOG    a file: a line for every init and shutdown
 * FAKE_NVML_PID    a process that holds 3 GiB on the 3090; "self": the one that loaded this library
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUCCESS 0
#define NOT_SUPPORTED 3
#define INSUFFICIENT_SIZE 7
#define NOT_FOUND 6
#define LOST 15
#define GIB 1073741824ULL

typedef struct {
    const char *name, *uuid, *bus;
    unsigned long long total, used;
    int quiet, memory_error, mig, index;
} card;

static card two[] = {
    {"NVIDIA GeForce RTX 3090", "GPU-aaaa1111-0000-0000-0000-000000000001", "00000000:21:00.0", 24 * GIB, 4 * GIB, 0, 0, 0, 0},
    {"NVIDIA GeForce GTX 1660 SUPER", "GPU-bbbb2222-0000-0000-0000-000000000002", "00000000:01:00.0", 6 * GIB, 1 * GIB, 1, 0, 0, 1}};
static card twins[] = {
    {"NVIDIA GeForce RTX 3090", "GPU-aaaa1111-0000-0000-0000-000000000001", "00000000:21:00.0", 24 * GIB, 4 * GIB, 0, 0, 0, 0},
    {"NVIDIA GeForce RTX 3090", "GPU-cccc3333-0000-0000-0000-000000000003", "00000000:01:00.0", 24 * GIB, 9 * GIB, 0, 0, 0, 1}};
static card unified[] = {{"NVIDIA GB10", "GPU-dddd", "0000000F:01:00.0", 0, 0, 0, NOT_SUPPORTED, 0, 0}};
static card slice[] = {{"NVIDIA H100L-2-24C", "GPU-ffff", "00000000:02:00.0", 0, 0, 0, NOT_SUPPORTED, 0, 0}};
static card cut[] = {
    {"NVIDIA A100-SXM4-40GB", "GPU-eeee", "00000000:07:00.0", 40 * GIB, 0, 0, 0, 2, 0},
    {"NVIDIA A100-SXM4-40GB MIG 3g.20gb", "MIG-1111", "", 20 * GIB, 2 * GIB, 0, 0, 0, 0},
    {"NVIDIA A100-SXM4-40GB MIG 2g.10gb", "MIG-2222", "", 10 * GIB, 1 * GIB, 0, 0, 0, 0}};

typedef struct { char legacy[16]; unsigned domain, bus, device, id, sub; char full[32]; } pci;
typedef struct { unsigned long long total, free, used; } memory;
typedef struct { unsigned gpu, memory; } rates;
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } process;

static const char *mode(void) { const char *m = getenv("FAKE_NVML"); return m ? m : "two"; }
static int is(const char *m) { return strcmp(mode(), m) == 0; }
static card *cards(void) { return is("twins") ? twins : is("unified") ? unified : is("vgpu") ? slice : is("mig") || is("migempty") ? cut : two; }

static void note(const char *what) {
    const char *path = getenv("FAKE_NVML_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (f) { fprintf(f, "%s\n", what); fclose(f); }
}
static int lost(card *c) {
    const char *path = getenv("FAKE_NVML_LOST");
    return c->index == 0 && path && access(path, F_OK) == 0;
}
#define ALIVE(c) if (lost(c)) return LOST

int nvmlInitWithFlags(unsigned flags) {
    (void)flags; note("init");
    return is("mismatch") ? 18 : is("notloaded") ? 9 : SUCCESS;
}
int nvmlShutdown(void) { note("shutdown"); return SUCCESS; }
const char *nvmlErrorString(int code) { (void)code; return "a pretend error"; }
int nvmlSystemGetDriverVersion(char *out, unsigned n) { snprintf(out, n, "570.00"); return SUCCESS; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 12080; return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = is("unified") || is("vgpu") || is("mig") || is("migempty") ? 1 : 2; return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, card **h) { *h = &cards()[i]; return lost(*h) ? LOST : SUCCESS; }
int nvmlDeviceGetName(card *c, char *out, unsigned n) { ALIVE(c); snprintf(out, n, "%s", c->name); return SUCCESS; }
int nvmlDeviceGetUUID(card *c, char *out, unsigned n) { ALIVE(c); snprintf(out, n, "%s", c->uuid); return SUCCESS; }
int nvmlDeviceGetPciInfo_v3(card *c, pci *p) {
    ALIVE(c);
    if (!c->bus[0]) return NOT_SUPPORTED;
    memset(p, 0, sizeof *p); snprintf(p->full, sizeof p->full, "%s", c->bus);
    return SUCCESS;
}
int nvmlDeviceGetMemoryInfo(card *c, memory *m) {
    ALIVE(c);
    if (c->memory_error) return c->memory_error;
    m->total = c->total; m->used = c->used; m->free = c->total - c->used;
    return SUCCESS;
}
int nvmlDeviceGetMigMode(card *c, unsigned *now, unsigned *next) { *now = *next = c->mig ? 1 : 0; return SUCCESS; }
int nvmlDeviceGetMaxMigDeviceCount(card *c, unsigned *n) { (void)c; *n = 7; return SUCCESS; }
int nvmlDeviceGetMigDeviceHandleByIndex(card *c, unsigned i, card **h) {
    if (is("migempty") || i >= (unsigned)c->mig) return NOT_FOUND;
    *h = c + 1 + i;
    return SUCCESS;
}
int nvmlDeviceGetMaxPcieLinkGeneration(card *c, unsigned *v) { ALIVE(c); *v = c->quiet ? 3 : 4; return SUCCESS; }
int nvmlDeviceGetMaxPcieLinkWidth(card *c, unsigned *v) { ALIVE(c); if (c->quiet) return NOT_SUPPORTED; *v = 16; return SUCCESS; }
int nvmlDeviceGetCurrPcieLinkGeneration(card *c, unsigned *v) { ALIVE(c); if (c->quiet) return NOT_SUPPORTED; *v = 3; return SUCCESS; }
int nvmlDeviceGetCurrPcieLinkWidth(card *c, unsigned *v) { ALIVE(c); if (c->quiet) return NOT_SUPPORTED; *v = 8; return SUCCESS; }
static int instance(card *c) { return strncmp(c->uuid, "MIG-", 4) == 0; }
int nvmlDeviceGetUtilizationRates(card *c, rates *r) { ALIVE(c); if (c->quiet) return NOT_SUPPORTED; r->gpu = 42; r->memory = 17; return SUCCESS; }
int nvmlDeviceGetClockInfo(card *c, int kind, unsigned *v) {
    ALIVE(c);
    *v = c->quiet ? 0xFFFFFFFFu : kind == 1 ? 1740 : 9751;
    return SUCCESS;
}
int nvmlDeviceGetPowerUsage(card *c, unsigned *v) { ALIVE(c); if (c->quiet || instance(c)) return NOT_SUPPORTED; *v = 213500; return SUCCESS; }
int nvmlDeviceGetEnforcedPowerLimit(card *c, unsigned *v) { ALIVE(c); if (c->quiet) return NOT_SUPPORTED; *v = 300000; return SUCCESS; }
int nvmlDeviceGetPowerManagementDefaultLimit(card *c, unsigned *v) { ALIVE(c); if (c->quiet) return NOT_SUPPORTED; *v = 450000; return SUCCESS; }
int nvmlDeviceGetPersistenceMode(card *c, int *v) { ALIVE(c); if (c->quiet) return NOT_SUPPORTED; *v = 0; return SUCCESS; }
int nvmlDeviceGetTemperature(card *c, int kind, unsigned *v) { (void)kind; ALIVE(c); if (instance(c)) return NOT_SUPPORTED; *v = 61; return SUCCESS; }
int nvmlDeviceGetCurrentClocksEventReasons(card *c, unsigned long long *v) {
    ALIVE(c); if (c->quiet) return NOT_SUPPORTED; *v = 0x1 | 0x4 | 0x40; return SUCCESS;
}
int nvmlDeviceGetPcieThroughput(card *c, int kind, unsigned *v) {
    ALIVE(c); if (c->quiet) return NOT_SUPPORTED; note("pcie"); *v = kind == 1 ? 2000 : 1000; return SUCCESS;
}
static int list(process *from, unsigned have, unsigned *n, process *out) {
    if (!have) { *n = 0; return SUCCESS; }
    if (!out || *n < have) { *n = have; return INSUFFICIENT_SIZE; }
    memcpy(out, from, have * sizeof *from); *n = have;
    return SUCCESS;
}
int nvmlDeviceGetComputeRunningProcesses_v3(card *c, unsigned *n, process *out) {
    ALIVE(c);
    const char *pid = getenv("FAKE_NVML_PID");
    unsigned number = !pid ? 0 : strcmp(pid, "self") == 0 ? (unsigned)getpid() : (unsigned)atoi(pid);
    process ours = {number, is("sized") && c->quiet ? GIB : c->quiet ? ~0ULL : 3 * GIB, 0, 0};
    return list(&ours, pid ? 1 : 0, n, out);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(card *c, unsigned *n, process *out) {
    ALIVE(c);
    if (c->quiet) return NOT_SUPPORTED;
    process other = {1, 0xFFFFFFFFFFFFFFFEULL, 0, 0};
    return list(&other, 1, n, out);
}
