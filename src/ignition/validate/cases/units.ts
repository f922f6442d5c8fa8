import type { ValidationCase } from './case.ts';
import { unit } from './sections.ts';

/** systemd units. */
export const units: readonly ValidationCase[] = [
  { name: 'unit', config: unit({ contents: '[Unit]\nDescription=a\n' }) },
  { name: 'unit name without a suffix', config: unit({ name: 'a' }), rules: ['unit-name-suffix'] },
  { name: 'broken unit', config: unit({ contents: '[Unit\n' }), rules: ['unit-syntax'] },
  {
    name: 'broken drop-in',
    config: unit({ dropins: [{ name: 'a.conf', contents: '[A]\nb' }] }),
    rules: ['unit-syntax'],
  },
  {
    name: 'drop-in name without a suffix',
    config: unit({ dropins: [{ name: 'a' }] }),
    rules: ['dropin-name-suffix'],
  },
  {
    name: 'enabled without an install section',
    config: unit({ enabled: true, contents: '[Unit]\n' }),
    rules: ['unit-not-installable'],
  },
  {
    name: 'enabled instance of a template without an install section',
    config: {
      systemd: {
        units: [
          { name: 'a@.service', contents: '[Unit]\n' },
          { name: 'a@b.service', enabled: true },
        ],
      },
    },
    rules: ['template-not-installable'],
  },
  {
    name: 'kernel argument wanted and unwanted',
    config: { kernelArguments: { shouldExist: ['a'], shouldNotExist: ['a'] } },
    rules: ['duplicate-entry'],
  },
];
