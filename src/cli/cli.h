/*
 * cli.h - the commands of smoljail, one file each
 *
 * A command gets its own name as argv[0] and returns the exit status.
 */
#ifndef SMOLJAIL_CLI_H
#define SMOLJAIL_CLI_H

int cmd_doctor(int argc, char **argv);
int cmd_rootfs(int argc, char **argv);

#endif
