export { check } from './check.ts';
export { checkBoot } from './check-boot.ts';
export { clean } from './clean.ts';
export { formatExtra } from './format-extra.ts';
export { lock } from './lock.ts';
export { resolve } from './resolve.ts';
export { setBootEntry } from './set-boot-entry.ts';
