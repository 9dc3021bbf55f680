/* SPDX-License-Identifier: Apache-2.0
 * gnuplot as a child process: no shell, no start-up file, a script on its standard input,
 * what it draws on its standard output. */
#ifndef REPORTS_GNUPLOT_H
#define REPORTS_GNUPLOT_H

#include <stdbool.h>
#include <stddef.h>

enum { GG_GNUPLOT_WHY = 120 };

/* Runs the script for at most so many seconds. True: *out, which the caller frees, has all
 * it wrote, ended by NUL. False: `why` says in a few words what is wrong; *out is NULL. */
bool gg_gnuplot(const char *script, double seconds, char **out, char why[GG_GNUPLOT_WHY]);

/* "5.4.4"; false, with why not, when there is none that works. */
bool gg_gnuplot_version(char version[32], char why[GG_GNUPLOT_WHY]);

#endif
