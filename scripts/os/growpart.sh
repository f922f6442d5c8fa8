# Runs inside the tree. growpart is a shell script; the rest of its package wants Python, which we leave out.
cd /tmp
apt-get download cloud-guest-utils
dpkg-deb --fsys-tarfile cloud-guest-utils_*.deb | tar -C / -xf - ./usr/bin/growpart
rm cloud-guest-utils_*.deb
