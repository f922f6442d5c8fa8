import { hours, type Millis } from '../../model/duration.ts';

/** Names and addresses that a certificate is for. */
export interface CertificateNames {
  readonly addresses: readonly string[];
  readonly names: readonly string[];
}

/** How far into the past certificates reach: clocks of hosts that were just switched on differ. */
const backdated: Millis = hours(1);

/** Long enough for any installation; the registry is gone after it. */
const validFor: Millis = hours(24 * 30);

/** From when until when certificates hold, as openssl wants it: `20261121190000Z`. */
export interface Validity {
  readonly from: string;
  readonly until: string;
}

/** The times of certificates that are made now, in milliseconds since the epoch. */
export const validityAt = (now: number): Validity => ({
  from: asn1Time(now - backdated),
  until: asn1Time(now + validFor),
});

/** Files of an authority in a folder, in the order in which they come to be. */
const filesIn = (folder: string) =>
  ({
    settings: `${folder}/openssl.cnf`,
    index: `${folder}/index.txt`,
    serial: `${folder}/serial`,
    caKey: `${folder}/ca.key`,
    caRequest: `${folder}/ca.csr`,
    caCertificate: `${folder}/ca.crt`,
    key: `${folder}/tls.key`,
    request: `${folder}/tls.csr`,
    certificate: `${folder}/tls.crt`,
  }) as const;

/** What has to lie in the folder before the first command. */
export function authorityFiles(
  folder: string,
  names: CertificateNames,
): readonly { readonly path: string; readonly content: string }[] {
  const { settings, index, serial } = filesIn(folder);
  return [
    { path: settings, content: opensslSettings(folder, names) },
    { path: index, content: '' },
    { path: serial, content: '01\n' },
  ];
}

/**
 * The commands that make an authority and a certificate of it. `openssl ca` is the one program on every host that
 * takes a beginning in the past.
 */
export function certificateCommands(
  folder: string,
  { from, until }: Validity,
): readonly (readonly string[])[] {
  const files = filesIn(folder);
  const request = (subject: string, key: string, out: string): readonly string[] => [
    ...['openssl', 'req', '-new', '-batch', '-config', files.settings],
    ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
    ...['-subj', `/CN=${subject}`, '-keyout', key, '-out', out],
  ];
  const sign = (...more: readonly string[]): readonly string[] => [
    ...['openssl', 'ca', '-batch', '-notext', '-config', files.settings],
    ...['-keyfile', files.caKey, '-startdate', from, '-enddate', until, ...more],
  ];
  return [
    request('bootwright staging authority', files.caKey, files.caRequest),
    sign(
      ...['-selfsign', '-extensions', 'authority', '-in', files.caRequest],
      ...['-out', files.caCertificate],
    ),
    request('bootwright staging registry', files.key, files.request),
    sign(
      ...['-cert', files.caCertificate, '-extensions', 'server'],
      ...['-in', files.request, '-out', files.certificate],
    ),
  ];
}

const asn1Time = (time: number): string =>
  `${new Date(time).toISOString().slice(0, 19).replaceAll(/[-T:]/g, '')}Z`;

function opensslSettings(folder: string, { addresses, names }: CertificateNames): string {
  const { index, serial } = filesIn(folder);
  const alternatives = [
    ...addresses.map((address) => `IP:${address}`),
    ...names.map((name) => `DNS:${name}`),
  ];
  return [
    '[ca]',
    'default_ca = staging',
    '[staging]',
    `database = ${index}`,
    `serial = ${serial}`,
    `new_certs_dir = ${folder}`,
    'default_md = sha256',
    // What an attempt that was cut off had signed must not be in the way.
    'unique_subject = no',
    'policy = any_name',
    '[any_name]',
    'commonName = supplied',
    '[req]',
    'distinguished_name = asked',
    'prompt = no',
    '[asked]',
    'commonName = replaced',
    '[authority]',
    'basicConstraints = critical,CA:TRUE',
    'keyUsage = critical,keyCertSign,cRLSign',
    'subjectKeyIdentifier = hash',
    '[server]',
    'basicConstraints = critical,CA:FALSE',
    'keyUsage = critical,digitalSignature',
    'extendedKeyUsage = serverAuth',
    `subjectAltName = ${alternatives.join(',')}`,
    '',
  ].join('\n');
}
