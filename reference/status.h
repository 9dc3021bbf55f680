/* SPDX-License-Identifier: Apache-2.0
 * Outcome of a call. A status never says whether a kernel is right: that is a verdict
 * (reports/record.h). The first failure leaves one line for a person: what is wrong,
 * where, and what to do next. */
#ifndef REFERENCE_STATUS_H
#define REFERENCE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gg_status {
    GG_OK = 0,
    GG_BAD_INPUT,   /* usage, suite, report or tensor that cannot be accepted: exit 3 */
    GG_NO_DEVICE,   /* no GPU, too old, or too little memory: nothing measured, exit 2 */
    GG_NO_MEMORY,   /* host or device allocation refused: exit 2 */
    GG_DEVICE_FAULT,/* a CUDA call or a kernel failed: exit 2 for our code */
    GG_KERNEL_FAULT,/* a kernel in another process broke: it died, hung or answered
                       nonsense. Its case failed */
    GG_IO,          /* a file could not be read or written: exit 3 */
    GG_INTERNAL     /* an invariant of gradgate itself is broken: exit 2 */
} gg_status;

/* Records a one-line message for this thread (printf format, no newline) and returns
 * `status`, so that `return gg_fail(GG_IO, "...")` reads as one statement. */
gg_status gg_fail(gg_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The message of this thread's latest gg_fail, "" when there was none. */
const char *gg_message(void);

#ifdef __cplusplus
}
#endif

#define GG_TRY(call)                                                             \
    do {                                                                         \
        gg_status gg_try_status_ = (call);                                       \
        if (gg_try_status_ != GG_OK) return gg_try_status_;                      \
    } while (0)

#endif
