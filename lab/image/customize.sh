#!/bin/sh
# Runs inside the new root file system ($1), once: turns it into a lab host that boots systemd in a container.
set -eu
root=$1
# Nothing that wants a console, a seat or a timer: a lab host runs what the roles install, and SSH.
for unit in getty.target console-getty.service systemd-logind.service systemd-udevd.service systemd-resolved.service \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer \
  systemd-networkd.service; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
# Servers of packages that some hosts use are started by the roles of these hosts.
rm -f "$root"/etc/systemd/system/multi-user.target.wants/prometheus*.service
# Host keys come from the lab, before the first connect; passwords do not exist.
rm -f "$root"/etc/ssh/ssh_host_*
cat > "$root/etc/ssh/sshd_config.d/lab.conf" <<'CONF'
HostKey /etc/ssh/lab/ssh_host_ed25519_key
PasswordAuthentication no
UsePAM no
MaxSessions 64
MaxStartups 64:30:128
CONF
ln -sf /lib/systemd/system/ssh.service "$root/etc/systemd/system/multi-user.target.wants/ssh.service"
printf "127.0.0.1 localhost\n::1 localhost\n" > "$root/etc/hosts"
: > "$root/etc/machine-id"
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*
