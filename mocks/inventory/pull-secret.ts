const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

/** Registries that there are only in the lab, and one user for all of them, who may not push. */
const hosts = [
  'registry.example.test',
  'quay.example.test',
  'images.partner.test',
  'mirror.site.test:8443',
];

/** A pull secret for registries that there are not. */
export const labPullSecret = JSON.stringify({
  auths: Object.fromEntries(
    hosts.map((host) => [
      host,
      { auth: inBase64('lab:not-a-password'), email: 'lab@example.test' },
    ]),
  ),
});
