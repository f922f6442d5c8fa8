import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { pinObject, pinText, renderingAnew } from './pin.ts';

const pin = { pool: 'master', image: `registry.example.com/ocl/master@sha256:${'a'.repeat(64)}` };
const path = '/etc/kubernetes/manifests/pod.yaml';
const pod = `apiVersion: v1
kind: Pod
metadata:
  name: bootstrap-machine-config-operator
spec:
  hostNetwork: true # as the operator writes it
`;

describe('a MachineConfig that names the image of a pool', () => {
  it('has the label that its pool selects by, and comes after those of the release', () => {
    const object = pinObject(pin);
    expect(object).toMatchObject({
      kind: 'MachineConfig',
      metadata: { labels: { 'machineconfiguration.openshift.io/role': 'master' } },
      spec: { osImageURL: pin.image },
    });
    const { name } = object['metadata'] as { readonly name: string };
    const ofRelease = ['00-master', '97-master-generated-kubelet', '99-master-ssh'];
    expect([...ofRelease.slice(0, 2), name].sort().at(-1)).toBe(name);
  });

  it('is read from its file as it is given to the cluster', () => {
    expect(parse(pinText(pin))).toEqual(pinObject(pin));
  });
});

describe('renderingAnew', () => {
  it('changes an annotation of the pod, and nothing else', () => {
    const { metadata, ...rest } = parse(renderingAnew({ path, text: pod }, [pin]) ?? '') as {
      readonly metadata: { readonly annotations: object };
    };
    const { metadata: before, ...others } = parse(pod) as { readonly metadata: object };
    expect(rest).toEqual(others);
    expect(metadata).toEqual({ ...before, annotations: metadata.annotations });
    expect(Object.keys(metadata.annotations)).toEqual(['bootwright.io/rendered-with']);
  });

  it('changes it once for the same images, and again for others', () => {
    const text = renderingAnew({ path, text: pod }, [pin]) ?? '';
    expect(renderingAnew({ path, text }, [pin])).toBeUndefined();
    expect(renderingAnew({ path, text }, [{ ...pin, image: 'other' }])).not.toBe(text);
  });

  it('refuses a manifest that is none', () => {
    expect(() => renderingAnew({ path, text: 'a: [' }, [pin])).toThrow(
      expect.objectContaining({ code: 'layering.malformed-file' }),
    );
  });
});
