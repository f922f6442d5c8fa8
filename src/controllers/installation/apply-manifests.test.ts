import { describe, expect, it } from 'vitest';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { clusterServiceVersions, jobs } from '../../kube/kinds.ts';
import { followedOlm, readCustomManifests, decodeManifest } from './apply-manifests.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const objectOf = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
const yaml = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`;

describe('a manifest', () => {
  it.each([
    ['one document', yaml('a'), ['a']],
    [
      'several documents, some of them empty',
      `---\n${yaml('a')}---\n---\n${yaml('b')}`,
      ['a', 'b'],
    ],
    ['JSON', JSON.stringify(objectOf('a')), ['a']],
    ['comments only', '# none\n', []],
  ])('can consist of %s', (_, text, names) => {
    expect(decodeManifest(base64(text))).toEqual({ objects: names.map(objectOf) });
  });

  it('may have line breaks in its base64', () => {
    const text = base64(yaml('a')).replaceAll(/(.{20})/g, '$1\n');
    expect(decodeManifest(`${text}\n`)).toEqual({ objects: [objectOf('a')] });
  });

  it('is read as oc reads it: YAML 1.1 with aliases', () => {
    const text = `${yaml('a')}data: &a {mode: 0644, on: yes, no: "no"}\nmore: *a\n`;
    const data = { mode: 420, true: true, false: 'no' };
    const object = { ...objectOf('a'), data, more: data };
    expect(decodeManifest(base64(text))).toEqual({ objects: [object] });
  });

  it.each([
    ['invalid base64', 'kind: ConfigMap', 'it is not base64'],
    ['duplicate keys', base64('kind: a\nkind: b\n'), 'Map keys must be unique'],
    ['an alias without an anchor', base64('kind: *a\n'), 'the alias has no anchor before it'],
    ['a merge of a text', base64('kind: a\n<<: b\n'), 'Merge sources must be maps or map aliases'],
    [
      'no name',
      base64('kind: a\napiVersion: v1\nmetadata: {}\n'),
      'an object has no apiVersion, kind or name',
    ],
    ['a list', base64('- a\n'), 'an object is expected, and this is a list'],
  ])('with %s is refused', (_, text, problem) => {
    expect(decodeManifest(text)).toEqual({ problem });
  });
});

describe('the list of manifests', () => {
  it('is read in order and with keys in any case, and reports unreadable entries', () => {
    const list = [
      { Name: 'lso', Content: base64(yaml('a')) },
      { name: 'odf', content: base64(yaml('b')) },
      { NAME: 'cnv', CONTENT: '%' },
      { Name: 'cnv' },
    ];
    expect(readCustomManifests(JSON.stringify(list))).toEqual({
      manifests: [
        { operator: 'lso', object: objectOf('a') },
        { operator: 'odf', object: objectOf('b') },
      ],
      problems: [
        'a manifest of operator cnv: it is not base64',
        'a manifest has no name or no content',
      ],
    });
  });

  it('is empty for null and undefined for other values', () => {
    expect(readCustomManifests('null')).toEqual({ manifests: [], problems: [] });
    for (const text of ['', '{}', '["a"]']) expect(readCustomManifests(text)).toBeUndefined();
  });
});

describe('followedOlm', () => {
  it('excludes copied CSVs and all jobs but those that unpack bundles', async () => {
    const kube = fakeKube();
    const at = (name: string, namespace: string, labels = {}) => ({
      metadata: { name, namespace, labels },
    });
    kube.put(clusterServiceVersions, at('lso.v1', 'local'));
    kube.put(clusterServiceVersions, at('lso.v1', 'default', { 'olm.copiedFrom': 'local' }));
    kube.put(jobs, at('unpack', 'openshift-marketplace')).put(jobs, at('other', 'default'));
    const olm = followedOlm(kube);
    const stop = new AbortController();
    const ended = olm.watch(() => undefined, stop.signal);
    const { csvs, jobs: unpacking } = olm.objects();
    expect(csvs.map(({ metadata }) => metadata.namespace)).toEqual(['local']);
    expect(unpacking.map(({ metadata }) => metadata.name)).toEqual(['unpack']);
    stop.abort();
    await ended;
  });
});
