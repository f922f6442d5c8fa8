import { file, storage, unit, type ValidationCase } from './case.ts';

/** Paths and links. */
export const nodes: readonly ValidationCase[] = [
  { name: 'relative path', config: file({ path: 'a' }), rules: ['path-relative'] },
  { name: 'empty path', config: file({ path: '' }), rules: ['path-empty'] },
  { name: 'path with ..', config: file({ path: '/a/../b' }), rules: ['path-not-canonical'] },
  { name: 'path ending in a slash', config: file({ path: '/a/' }), rules: ['path-not-canonical'] },
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
  { name: 'mode 0', config: file({ mode: 0 }) },
  {
    name: 'link without a target',
    config: storage({ links: [{ path: '/a' }] }),
    rules: ['link-target-required'],
  },
  {
    name: 'link without a target in spec 3.2',
    config: storage({ links: [{ path: '/a' }] }),
    minor: 2,
  },
  {
    name: 'file below a link',
    config: storage({ links: [{ path: '/a', target: '/b' }], files: [{ path: '/a/c' }] }),
    rules: ['path-through-link'],
  },
  {
    name: 'hard link to a directory',
    config: storage({
      links: [{ path: '/a', target: '/b', hard: true }],
      directories: [{ path: '/b' }],
    }),
    rules: ['hard-link-to-directory'],
  },
  {
    name: 'file where a unit is written',
    config: {
      ...storage({ files: [{ path: '/etc/systemd/system/a.service' }] }),
      ...unit({ contents: '[Unit]\n' }),
    },
    rules: ['path-is-unit'],
    isNewRule: true,
  },
];
