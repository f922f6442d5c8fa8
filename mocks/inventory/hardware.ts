// The parts that make the record of a host long. A virtual machine with one interface has some 25
// KiB (the answer of a service of 2021, in a published walk through its API), and an agent adds
// `smartctl -x --json=c` of each disk (assisted-service, pull request 727). The names of members
// come from its swagger.

const attributes = [
  'Raw_Read_Error_Rate',
  'Reallocated_Sector_Ct',
  'Power_On_Hours',
  'Spin_Retry_Count',
];

const smart = JSON.stringify({
  json_format_version: [1, 0],
  smartctl: { version: [7, 1], exit_status: 0 },
  ata_smart_attributes: {
    table: Array.from({ length: 16 }, (_, id) => ({
      id,
      name: attributes[id % attributes.length],
      value: 100,
      worst: 100,
      thresh: 16,
      flags: { value: 47, string: 'POSR-K ', prefailure: true, updated_online: true },
      raw: { value: 0, string: '0' },
    })),
  },
});

const disks = ['sda', 'sdb', 'nvme0n1', 'nvme1n1'].map((name) => ({
  id: `/dev/disk/by-id/wwn-${name}`,
  name,
  path: `/dev/${name}`,
  drive_type: 'SSD',
  by_path: `/dev/disk/by-path/${name}`,
  bootable: true,
  model: 'PERC',
  vendor: 'DELL',
  serial: name,
  size_bytes: 960_197_124_096,
  hctl: '0:2:0:0',
  installation_eligibility: { eligible: true, not_eligible_reasons: null },
  smart,
}));

/** The findings of a discovery agent on a host, except name and interfaces. */
export const hardware = {
  bmc_address: '0.0.0.0',
  boot: { current_boot_mode: 'uefi' },
  cpu: {
    architecture: 'x86_64',
    count: 64,
    frequency: 3500,
    model_name: 'Intel(R) Xeon(R)',
    flags: Array.from({ length: 120 }, (_, index) => `avx512_${index}`),
  },
  disks,
  memory: { physical_bytes: 274_877_906_944, usable_bytes: 270_582_939_648 },
  system_vendor: { manufacturer: 'Dell Inc.', product_name: 'PowerEdge R640', serial_number: '1' },
};

const checks = ['has-inventory', 'has-min-cpu-cores', 'has-min-memory', 'hostname-unique'];

/** The service's checks of a host, as the text in its database. */
export const validations = JSON.stringify(
  Object.fromEntries(
    ['hardware', 'network', 'operators'].map((group) => [
      group,
      Array.from({ length: 16 }, (_, index) => ({
        id: checks[index % checks.length],
        status: 'success',
        message: 'Hostname "{name}" is unique in cluster, and all of its disks are fast enough',
      })),
    ]),
  ),
);
