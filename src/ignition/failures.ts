import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Failures of reading an Ignition config. */
export const ignitionFailures = {
  'ignition.empty': {
    kind: 'input',
    title: 'The Ignition config is empty',
    hint: 'check how the file was written; a download may have been cut short',
  },
  'ignition.html-page': {
    kind: 'remote',
    title: 'An HTML page came in place of an Ignition config',
    hint: 'a proxy or a login page may have answered; check the URL and the proxy settings',
  },
  'ignition.error-body': {
    kind: 'remote',
    title: 'An error message came in place of an Ignition config',
    hint: 'the service refused the download; its reason is in the context',
  },
  'ignition.not-json': {
    kind: 'input',
    title: 'The Ignition config is not JSON',
    hint: 'fix the file at that line and column; it must be UTF-8 without a byte order mark',
  },
  'ignition.no-version': {
    kind: 'input',
    title: 'The Ignition config has no spec version',
    hint: 'ignition.version must be a string such as 3.2.0',
  },
  'ignition.spec-2': {
    kind: 'unsupported',
    title: 'The Ignition config is of spec 2.x or older',
    hint: 'convert the config to spec 3.x, or request it with an Accept header of version 3.x',
  },
  'ignition.version-unsupported': {
    kind: 'unsupported',
    title: 'The Ignition spec version is not supported',
    hint: 'use a stable spec from 3.0.0 to 3.5.0',
  },
  'ignition.invalid': {
    kind: 'input',
    title: 'The Ignition config breaks a rule of the spec',
    hint: 'fix the config at that path; Ignition would refuse it on first boot',
  },
  'ignition.merge-invalid': {
    kind: 'input',
    title: 'Two valid Ignition configs merge to an invalid one',
    hint: 'the overrides of this host do not fit the config they are merged into; change them',
  },
  'ignition.data-url': {
    kind: 'input',
    title: 'A data URL in the Ignition config cannot be decoded',
    hint: 'percent-encode the data, or encode it as padded standard base64',
  },
  'ignition.gzip': {
    kind: 'input',
    title: 'Compressed content in the Ignition config cannot be decompressed',
    hint: 'compress the content with gzip again, or remove compression from the resource',
  },
  'ignition.too-large': {
    kind: 'input',
    title: 'Decompressed content of the Ignition config is too large',
    hint: 'check that the embedded content is the right one',
  },
  'ignition.hash-mismatch': {
    kind: 'media',
    title: 'Content of the Ignition config does not match its hash',
    hint: 'the hash covers the decompressed content; the content or the hash is wrong',
  },
  'ignition.no-source': {
    kind: 'input',
    title: 'A resource of the Ignition config has no source',
    hint: 'set source of the resource',
  },
  'ignition.remote-source': {
    kind: 'input',
    title: 'The content is not embedded in the Ignition config',
    hint: 'embed the content as a data URL',
  },
  'ignition.file-missing': {
    kind: 'input',
    title: 'The Ignition config lacks a file that the install needs',
    hint: 'check that the config is the right one for this role',
  },
  'ignition.pointer-missing': {
    kind: 'input',
    title: 'The Ignition config points to no other config',
    hint: 'ignition.config.merge needs an entry with a source',
  },
  'ignition.ca-missing': {
    kind: 'input',
    title: 'The Ignition config has no certificate authority for its HTTPS source',
    hint: 'add the authority to ignition.security.tls.certificateAuthorities as a data URL',
  },
  'ignition.ca-invalid': {
    kind: 'input',
    title: 'A certificate authority of the Ignition config has no certificate',
    hint: 'certificateAuthorities must hold PEM certificates',
  },
  'ignition.encapsulated-missing': {
    kind: 'input',
    title: 'The rendered Ignition config has no MachineConfig',
    hint: 'the Machine Config Server adds it; check that the address serves the pool of this role',
  },
  'ignition.encapsulated-invalid': {
    kind: 'input',
    title: 'The MachineConfig inside the rendered Ignition config cannot be read',
    hint: 'it must be JSON with spec.osImageURL; check the rendered MachineConfig of the pool',
  },
} as const satisfies FailureTable;

/** Builds an error of this area. */
export const ignitionFailure = failuresOf(ignitionFailures);
