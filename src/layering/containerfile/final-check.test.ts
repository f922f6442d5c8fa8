import { describe, expect, it } from 'vitest';
import { lintContainerfile } from './lint.ts';

const rulesOf = (text: string): readonly string[] =>
  lintContainerfile(`FROM configs AS final\n${text}\n`).map(({ rule }) => rule);

describe('a check of the image', () => {
  it.each([
    'RUN ostree container commit',
    'run /usr/bin/ostree container commit',
    'RUN bootc container lint --fatal-warnings',
    'RUN ostree container commit # done',
    'RUN a && \\\n  # why\n  b && \\\n  ostree container commit',
    'RUN a; b; ostree container commit',
    'RUN (a; b) && bootc container lint',
    'RUN bootc container lint && ostree container commit && echo done',
    'RUN set -eux; ostree container commit; echo done',
    'RUN ostree container commit || exit 1',
    'RUN ostree container commit || { echo no; exit 1; }',
    'RUN a || { echo no; exit 1; }; ostree container commit',
    'RUN if command -v bootc; then bootc container lint; else ostree container commit; fi',
    'RUN bootc container lint || ostree container commit',
    'RUN set -o pipefail; ostree container commit | tee /usr/share/log',
    'RUN ["ostree", "container", "commit"]',
    'RUN bash -c "a && ostree container commit"',
    "RUN ostree container commit && sh -c 'echo done'",
    "RUN sh -ec 'ostree container commit; echo done'",
    'RUN --mount=type=cache,target=/x a && ostree container commit',
    'RUN echo $((1<<A)) && ostree container commit',
    'RUN <<E\na\nostree container commit\nE',
    'RUN <<-E\n\tostree container commit\n\tE',
    "RUN <<'end of it'\nostree container commit\nend of it",
    'RUN <<E\n#!/bin/bash -e\nostree container commit\necho done\nE',
    'RUN bash -euo pipefail <<E\na\nostree container commit\nE',
    "RUN cat <<'E' > /usr/lib/x && ostree container commit\nwhatever\nE",
    'RUN <<A cat > /usr/x && <<B cat > /usr/y && ostree container commit\n1\nA\n2\nB',
    'RUN <<E\ncat <<F > /usr/x\nE is not it\nF\nostree container commit\nE',
    'RUN ostree container commit\nLABEL a=b\nWORKDIR /usr',
  ])('comes last in %j', (text) => {
    expect(rulesOf(text)).toEqual([]);
  });

  it.each([
    'RUN touch /usr/x # ostree container commit',
    'RUN bootc container lint || true',
    'RUN bootc container lint || echo no',
    'RUN ostree container commit && rm -rf /x',
    'RUN ostree container commit; true',
    'RUN ostree container commit\nRUN rm /usr/x',
    'RUN ostree container commit && echo x > /usr/x',
    'RUN ostree container commit | cat',
    'RUN true || ostree container commit',
    "RUN true || sh -c 'ostree container commit'",
    'RUN ! ostree container commit',
    'RUN if ostree container commit; then true; fi',
    'RUN echo "ostree container commit"',
    'RUN echo ostree container commit',
    'RUN ostree container commit & rm /usr/x',
    'RUN <<E\n# ostree container commit\ntouch /usr/x\nE',
    'RUN <<E\nostree container commit\nrm /usr/x\nE',
    'RUN <<E\n#!/usr/bin/python3\nostree container commit\nE',
    'RUN cat <<E > /usr/x\nostree container commit\nE',
    'RUN bash -c "ostree container commit || true"',
    'COPY <<E /usr/x\nostree container commit\nE',
  ])('is missing in %j', (text) => {
    expect(rulesOf(text)).toEqual(['final-commit']);
  });
});
