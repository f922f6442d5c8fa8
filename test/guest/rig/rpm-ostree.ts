import { join } from 'node:path';

/** The stand-in of rpm-ostree, for the files of a job. */
export const rpmOstreeFiles = { 'rpm-ostree': join(import.meta.dirname, 'rpm-ostree') } as const;

/** Bash that puts it where the host finds it; /usr is read-only, and /usr/local is in /var. */
export const putRpmOstree = 'install -D --mode 755 /job/rpm-ostree /var/usrlocal/bin/rpm-ostree';
