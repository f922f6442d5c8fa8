import { file, ignition, inlined, type ValidationCase } from './case.ts';

const sha256 = `sha256-${'0'.repeat(64)}`;
const content = (contents: object): object => file({ contents });

/** Resources and what is around fetching them. */
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
  { name: 'scheme file', config: content({ source: 'file:///a' }), rules: ['url-scheme'] },
  { name: 'broken URL', config: content({ source: 'http://h:port/' }), rules: ['url-invalid'] },
  {
    name: 'bucket of gs in spec 3.1',
    config: content({ source: 'gs://a/b' }),
    minor: 1,
    rules: ['url-scheme'],
  },
  { name: 'bucket of gs in spec 3.2', config: content({ source: 'gs://a/b' }), minor: 2 },
  {
    name: 's3 with an empty version',
    config: content({ source: 's3://a/b?versionId=' }),
    rules: ['url-s3-version'],
  },
  { name: 'ARN in spec 3.4', config: content({ source: 'arn:aws:s3:::a/b' }), minor: 4 },
  {
    name: 'ARN in spec 3.3',
    config: content({ source: 'arn:aws:s3:::a/b' }),
    rules: ['url-scheme'],
  },
  {
    name: 'ARN of something else',
    config: content({ source: 'arn:aws:ec2:::a/b' }),
    minor: 4,
    rules: ['url-s3-arn'],
  },
  { name: 'compression gzip', config: content({ ...inlined, compression: 'gzip' }) },
  {
    name: 'compression xz',
    config: content({ ...inlined, compression: 'xz' }),
    rules: ['compression-unknown'],
  },
  { name: 'hash', config: content({ ...inlined, verification: { hash: sha256 } }) },
  {
    name: 'sha256 in spec 3.0',
    config: content({ ...inlined, verification: { hash: sha256 } }),
    minor: 0,
    rules: ['hash-function-unknown'],
  },
  {
    name: 'hash without a source',
    config: content({ verification: { hash: sha256 } }),
    rules: ['hash-without-source'],
  },
  {
    name: 'hash md5',
    config: content({ ...inlined, verification: { hash: 'md5-0' } }),
    rules: ['hash-function-unknown'],
  },
  {
    name: 'hash of the wrong length',
    config: content({ ...inlined, verification: { hash: 'sha256-0' } }),
    rules: ['hash-length'],
  },
  {
    name: 'hash without a function',
    config: content({ ...inlined, verification: { hash: 'x' } }),
    rules: ['hash-malformed'],
  },
  {
    name: 'merge without a source',
    config: ignition({ config: { merge: [{}] } }),
    rules: ['source-required'],
  },
  {
    name: 'merge without a source in spec 3.0',
    config: ignition({ config: { merge: [{}] } }),
    minor: 0,
  },
  {
    name: 'authority without a source',
    config: ignition({ security: { tls: { certificateAuthorities: [{}] } } }),
    rules: ['source-required'],
  },
  {
    name: 'headers of a data URL',
    config: content({ ...inlined, httpHeaders: [{ name: 'a', value: 'b' }] }),
    rules: ['headers-need-http'],
  },
  {
    name: 'header without a name or with an empty value',
    config: content({ source: 'http://h', httpHeaders: [{ name: '' }, { name: 'a', value: '' }] }),
    rules: ['header-name-empty', 'header-value-empty'],
  },
  {
    name: 'proxy over ftp',
    config: ignition({ proxy: { httpProxy: 'ftp://h' } }),
    rules: ['proxy-scheme'],
  },
  {
    name: 'plaintext proxy',
    config: ignition({ proxy: { httpsProxy: 'http://h' } }),
    rules: ['proxy-insecure'],
  },
];
