export { check } from './check.ts';
export { checkBoot } from './check-boot.ts';
export { clean } from './clean.ts';
export { formatExtra } from './format-extra.ts';
export { lock } from './in-use.ts';
export { resolve } from './resolve.ts';
export { setBootEntry } from './set-boot-entry.ts';
