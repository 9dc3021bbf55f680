/* SPDX-License-Identifier: Apache-2.0
 * A program that judges its own kernel, without the command line.
 * usage: judge SUITE REPORT; the exit code is the verdict. */
#include <gradgate/gradgate.h>
#include <stdio.h>

const gg_kernel *const *gg_plugin(void); /* the kernel's file: any that ends in GG_PLUGIN */

int main(int argc, char **argv)
{
    gg_settings settings = {.bytes = sizeof settings, .suite = argc > 1 ? argv[1] : "linear60"};
    gg_evidence *evidence;
    int code = gg_judge_kernel(gg_plugin()[0], &settings, &evidence);
    if (evidence == NULL) { /* nothing was measured */
        fprintf(stderr, "judge: %s\n", gg_error());
        return code;
    }
    for (int i = 0; i < gg_evidence_cases(evidence); i++) {
        gg_case_result c = {.bytes = sizeof c};
        gg_output_result o = {.bytes = sizeof o};
        gg_evidence_case(evidence, i, &c);
        if (c.verdict == GG_EXIT_PASSED) continue;
        printf("%s: %s\n", c.id, c.reason);
        for (int k = 0; k < c.outputs && gg_evidence_output(evidence, i, k, &o) == 0; k++)
            printf("  %s: RMSE %.3g, floor %.3g\n", o.name, o.rmse, o.floor_rmse);
    }
    if (argc > 2 && gg_evidence_write(evidence, "json", argv[2]) != GG_EXIT_PASSED)
        fprintf(stderr, "judge: %s\n", gg_error());
    printf("%d cases, exit code %d\n", gg_evidence_cases(evidence), code);
    gg_evidence_free(evidence);
    return code;
}
