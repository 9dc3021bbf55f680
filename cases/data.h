/* SPDX-License-Identifier: Apache-2.0
 * Where the files are that come with gradgate: suites and golden digests. */
#ifndef CASES_DATA_H
#define CASES_DATA_H

enum { GG_DATA_FOLDERS = 4, GG_DATA_PATH = 4096 };

/* The folders that may hold files of a kind, "suites" or "golden", in the order in which
 * they are asked; the same one twice does no harm, and one that is not there neither. The
 * rest of `folder` is "". In this order:
 *   1. share/gradgate/KIND or cases/KIND beside or above the folder of the shared library
 *      or else program that this code is in, so an installed or a moved tree finds its own;
 *   2. the same for the program, when this code is in a library;
 *   3. cases/KIND of the sources that this was built from;
 *   4. cases/KIND below the current folder. */
void gg_data_folders(const char *kind, char folder[GG_DATA_FOLDERS][GG_DATA_PATH]);

#endif
