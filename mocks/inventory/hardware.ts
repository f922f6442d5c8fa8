// The parts that make the record of a host long. A virtual machine with one interface has some 25
// KiB (the answer of a service of 2021, in a published walk through its API), and an agent adds
// `smartctl -x --json=c` of each disk (assisted-service, pull request 727). The names of members
// come from its swagger.

/** A text as long as the JSON of `smartctl`, with quotes that JSON has to escape again. */
const attribute = { id: 5, name: 'Reallocated_Sector_Ct', value: 100, worst: 100, thresh: 16 };
const smart = JSON.stringify(Array(42).fill(attribute));

const disks = ['sda', 'sdb', 'nvme0n1', 'nvme1n1'].map((name) => ({
  id: `/dev/disk/by-id/wwn-${name}`,
  path: `/dev/${name}`,
  drive_type: 'SSD',
  size_bytes: 960_197_124_096,
  installation_eligibility: { eligible: true, not_eligible_reasons: null },
  smart,
}));

/** The findings of a discovery agent on a host, except name and interfaces. */
export const hardware = {
  cpu: { architecture: 'x86_64', count: 64, flags: Array(120).fill('avx512_vpopcntdq') as unknown },
  disks,
  memory: { physical_bytes: 274_877_906_944, usable_bytes: 270_582_939_648 },
};

const check = { id: 'hostname-unique', status: 'success', message: 'is unique; '.repeat(9) };

/** The service's checks of a host, as the text in its database. */
export const validations = JSON.stringify({ hardware: Array(48).fill(check) });
