import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { renderKubeconfig } from './kubeconfig.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('the text of a kubeconfig', () => {
  it('holds all that a client needs', () => {
    const text = renderKubeconfig({
      server: 'https://127.0.0.1:12345',
      ca: 'authority',
      user: { certificate: 'certificate', key: 'key' },
    });
    expect(parse(text)).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'kube-lab',
          cluster: {
            server: 'https://127.0.0.1:12345',
            'certificate-authority-data': base64('authority'),
          },
        },
      ],
      users: [
        {
          name: 'kube-lab',
          user: {
            'client-certificate-data': base64('certificate'),
            'client-key-data': base64('key'),
          },
        },
      ],
      contexts: [{ name: 'kube-lab', context: { cluster: 'kube-lab', user: 'kube-lab' } }],
      'current-context': 'kube-lab',
    });
  });
});
