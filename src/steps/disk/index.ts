export { checkDisk as check } from './check.ts';
export { checkBoot } from './check-boot.ts';
export { cleanDisk as clean } from './clean.ts';
export { formatExtraDisks as formatExtra } from './format-extra.ts';
export { lockDisk as lock } from './in-use.ts';
export { resolveDisk as resolve } from './resolve.ts';
export { setBootEntry } from './set-boot-entry.ts';
