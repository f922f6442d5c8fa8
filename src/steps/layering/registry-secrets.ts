import { Buffer } from 'node:buffer';
import {
  authorityFiles,
  certificateCommands,
  type CertificateNames,
  curlCredentials,
  passwordLine,
  pullSecretOf,
  type RegistryUser,
  validityAt,
} from '../../layering/registry/credentials.ts';
import { secretFiles, secretsFolder } from '../../layering/registry/staging-registry.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { StepScope } from '../step.ts';

type SecretsScope = StepScope<'host' | 'clock' | 'random'>;

/** Folders that nobody but root may look into. */
export const secretFoldersArgv = [
  ...['install', '--directory', '--mode', '0700', secretsFolder],
  ...[secretFiles.served, secretFiles.authority, secretFiles.certificates],
] as const;

/**
 * Makes the certificates and the one user of the staging registry, unless an earlier run did for this address. The
 * file with the address is written last: where it is, all else is.
 */
export async function makeRegistrySecrets(
  scope: SecretsScope,
  address: string,
  names: CertificateNames,
): Promise<void> {
  const { host, signal } = scope;
  if ((await host.readText(secretFiles.address, signal)) === address) return;
  await host.exec(secretFoldersArgv, { signal, limit: seconds(20) });
  await makeCertificates(scope, names);
  const user = newUser(scope);
  const salt = Buffer.from(scope.random.uuid().replaceAll('-', ''), 'hex');
  for (const [path, content] of [
    [secretFiles.passwords, passwordLine(user, salt)],
    [secretFiles.authFile, pullSecretOf(address, user)],
    [secretFiles.curl, curlCredentials(user)],
    [secretFiles.address, address],
  ] as const) {
    await host.writeFile(path, content, { signal, mode: 0o600 });
  }
}

/** 244 random bits: two UUIDs, whose dashes say nothing. */
const newUser = ({ random }: SecretsScope): RegistryUser => ({
  name: 'bootwright',
  password: `${random.uuid()}${random.uuid()}`.replaceAll('-', ''),
});

async function makeCertificates(
  { host, signal, clock }: SecretsScope,
  names: CertificateNames,
): Promise<void> {
  const { authority, served, certificates } = secretFiles;
  for (const { path, content } of authorityFiles(authority, names)) {
    await host.writeFile(path, content, { signal, mode: 0o600 });
  }
  const placed = [
    ['cp', `${authority}/ca.crt`, certificates],
    ['cp', `${authority}/tls.crt`, `${authority}/tls.key`, served],
  ];
  for (const argv of [...certificateCommands(authority, validityAt(clock.now())), ...placed]) {
    await host.exec(argv, { signal, limit: minutes(1) });
  }
}
