import type { Finding } from '../../src/ignition/validate.ts';

/** A config with the expected findings; the unit tests and the comparison with Ignition read it. */
export interface ValidationCase {
  readonly name: string;
  /** JSON text. */
  readonly config: string;
  /** The violated rules; undefined for a valid config. */
  readonly rules?: readonly Finding['rule'][];
  /** Error code of a text that cannot be parsed as a config. */
  readonly code?: string;
}

const text = (members: string): string => `{"ignition":{"version":"3.3.0"}${members}}`;
const sections = (config: object): string =>
  JSON.stringify({ ignition: { version: '3.3.0' }, ...config });
const storage = (members: object): string => sections({ storage: members });
const file = (members: object): string => storage({ files: [{ path: '/a', ...members }] });

/** Violates every rule at least once, and has texts that cannot be parsed. */
export const validationCases: readonly ValidationCase[] = [
  { name: 'nothing but a version', config: text('') },
  { name: 'empty file', config: '', code: 'ignition.empty' },
  { name: 'blank file', config: ' \n', code: 'ignition.empty' },
  { name: 'byte order mark', config: `\u{feff}${text('')}`, code: 'ignition.not-json' },
  { name: 'trailing text', config: `${text('')} x`, code: 'ignition.not-json' },
  { name: 'web page', config: '<!DOCTYPE html>', code: 'ignition.html-page' },
  { name: 'null for a config', config: 'null', code: 'ignition.no-version' },
  { name: 'null version', config: '{"ignition":{"version":null}}', code: 'ignition.no-version' },
  { name: 'version 2', config: '{"ignition":{"version":"2.2.0"}}', code: 'ignition.spec-2' },
  { name: 'unknown key', config: text(',"x":1') },
  { name: 'null list', config: text(',"storage":{"files":null}') },
  { name: 'null entry', config: text(',"storage":{"files":[null]}'), rules: ['wrong-type'] },
  { name: 'mode as a string', config: file({ mode: '420' }), rules: ['wrong-type'] },
  { name: 'mode with a fraction', config: file({ mode: 420.5 }), rules: ['wrong-type'] },
  { name: 'object in place of a list', config: storage({ files: {} }), rules: ['wrong-type'] },
  {
    name: 'kernel argument wanted and unwanted',
    config: sections({ kernelArguments: { shouldExist: ['a'], shouldNotExist: ['a'] } }),
    rules: ['duplicate-entry'],
  },
  { name: 'relative path', config: file({ path: 'a' }), rules: ['path-relative'] },
  { name: 'empty path', config: file({ path: '' }), rules: ['path-relative'] },
  {
    name: 'path twice',
    config: storage({ files: [{ path: '/a' }, { path: '/a' }] }),
    rules: ['duplicate-entry'],
  },
  {
    name: 'path of a file and a link',
    config: storage({ files: [{ path: '/a' }], links: [{ path: '/a', target: 'b' }] }),
    rules: ['duplicate-entry'],
  },
  {
    name: 'path of a directory and a file',
    config: storage({ directories: [{ path: '/a' }], files: [{ path: '/a' }] }),
    rules: ['duplicate-entry'],
  },
  {
    name: 'partition twice',
    config: storage({
      disks: [{ device: '/dev/a', partitions: [{ number: 1 }, { number: 1 }] }],
    }),
    rules: ['duplicate-entry'],
  },
  {
    name: 'file below a link',
    config: storage({ links: [{ path: '/a', target: '/b' }], files: [{ path: '/a/c' }] }),
    rules: ['path-through-link'],
  },
];
