import { nodes } from './nodes.ts';
import { resources } from './resources.ts';
import { file, storage, type ValidationCase } from './case.ts';

const text = (members: string): string => `{"ignition":{"version":"3.3.0"}${members}}`;

/** What is no config, or is odd before any rule of the spec applies. */
const reading: readonly ValidationCase[] = [
  { name: 'nothing but a version', config: {} },
  { name: 'empty file', config: '', code: 'ignition.empty' },
  { name: 'blank file', config: ' \n', code: 'ignition.empty' },
  { name: 'byte order mark', config: `\u{feff}${text('')}`, code: 'ignition.not-json' },
  { name: 'trailing text', config: `${text('')} x`, code: 'ignition.not-json' },
  { name: 'web page', config: '<!DOCTYPE html>', code: 'ignition.html-page' },
  { name: 'null for a config', config: 'null', code: 'ignition.no-version' },
  { name: 'null version', config: '{"ignition":{"version":null}}', code: 'ignition.no-version' },
  { name: 'version 2', config: '{"ignition":{"version":"2.2.0"}}', code: 'ignition.spec-2' },
  {
    name: 'newer spec',
    config: '{"ignition":{"version":"3.6.0-experimental"}}',
    code: 'ignition.version-unsupported',
    isNewRule: true,
  },
  { name: 'unknown key', config: text(',"x":1'), rules: ['unknown-key'] },
  { name: 'wrong case', config: text(',"Storage":{}'), rules: ['wrong-case-key'] },
  {
    name: 'error below a key in the wrong case',
    config: text(',"Storage":{"FILES":[{"path":"a"}]}'),
    rules: ['path-relative', 'wrong-case-key', 'wrong-case-key'],
  },
  {
    name: 'key given twice',
    config: text(',"storage":{"files":[{"path":"a","path":"/a"}]}'),
    rules: ['duplicate-key'],
  },
  {
    name: 'kernel argument wanted and unwanted',
    config: { kernelArguments: { shouldExist: ['a'], shouldNotExist: ['a'] } },
    rules: ['duplicate-entry'],
  },
  { name: 'null list', config: text(',"storage":{"files":null}') },
  { name: 'null entry', config: text(',"storage":{"files":[null]}'), rules: ['path-empty'] },
  { name: 'mode as a string', config: file({ mode: '420' }), rules: ['wrong-type'] },
  {
    name: 'mode as a fraction',
    config: text(',"storage":{"files":[{"path":"/a","mode":1.0}]}'),
    rules: ['wrong-type'],
  },
  { name: 'object in place of a list', config: storage({ files: {} }), rules: ['wrong-type'] },
];

/** Every rule of validation at least once, and what is passed on unread. */
export const validationCases: readonly ValidationCase[] = [...reading, ...nodes, ...resources];
