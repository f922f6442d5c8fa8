import { file, ignition, type ValidationCase } from './case.ts';

const content = (contents: object): object => file({ contents });

/** Embedded content. */
export const resources: readonly ValidationCase[] = [
  { name: 'plain data URL', config: content({ source: 'data:,a%20b' }) },
  { name: 'empty data URL', config: content({ source: 'data:,' }) },
  {
    name: 'raw space in a data URL',
    config: content({ source: 'data:,a b' }),
    rules: ['data-url-invalid'],
  },
  {
    name: 'unpadded base64',
    config: content({ source: 'data:;base64,YQ' }),
    rules: ['data-url-invalid'],
  },
  {
    name: 'authority in a broken data URL',
    config: ignition({ security: { tls: { certificateAuthorities: [{ source: 'data:a b' }] } } }),
    rules: ['data-url-invalid'],
  },
];
