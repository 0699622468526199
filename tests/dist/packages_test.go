package dist

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// inSystem runs a script in a temporary copy of this system, and returns the output of the script.
// The copy is an overlay in memory over the root folder, in its own mount namespace.
func inSystem(t *testing.T, script string, files ...string) string {
	t.Helper()
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skipf("this system has no packages of Debian: %v", err)
	}
	dir := t.TempDir()
	mount := `set -eu
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay -o lowerdir=/,upperdir="$1/upper",workdir="$1/work" none "$1/root"
mount -t tmpfs none "$1/root/tmp"
mkdir -p "$1/root/proc"
mount --rbind /proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
cp "$2"/* "$1/root/tmp/"
exec chroot "$1/root" /bin/sh -eu /tmp/script.sh
`
	given := t.TempDir()
	if err := os.WriteFile(filepath.Join(given, "script.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		run(t, "cp", f, given)
	}
	args := []string{"unshare", "--mount"}
	if os.Geteuid() != 0 {
		args = append(args, "--map-root-user", "--map-auto")
	}
	return run(t, append(args, "sh", "-c", mount, "sh", dir, given)...)
}

// life is a script that installs a package, uses it, and removes it. The script prints a line after
// each step that succeeds.
const life = `
test ! -e /usr/bin/varve
$INSTALL
test "$(stat -c %U:%a /usr/bin/varve)" = root:755 && echo "the program is installed"
varve version
getent passwd varve | grep -q :/usr/sbin/nologin && echo "the user exists"
zcat /usr/share/man/man1/varve-ingest.1.gz | grep -q 'varve-ingest' && echo "the man pages are installed"
test -f /usr/share/varve/grafana/provisioning/datasources/varve.yaml && echo "the dashboards are installed"
bash -c '. /usr/share/bash-completion/completions/varve && complete -p varve' >/dev/null && echo "bash completes varve"
varve config check --config /etc/varve/varve.yaml | grep -q 'configuration is good' && echo "the configuration is good"
test "$(stat -c %U:%a /var/lib/varve)" = varve:700 && echo "the folder is private"
runuser -u varve -- varve keys create --scope admin --data /var/lib/varve/data 2>/dev/null >/tmp/key
$START &
pid=$!
for i in $(seq 600); do
	! curl -sf http://$ADDRESS/readyz >/dev/null || break
	sleep 0.1
done
test "$(curl -s -o /dev/null -w %{http_code} http://$ADDRESS/v1/streams)" = 401 && echo "the service takes keys"
curl -sf -H "Authorization: Bearer $(cat /tmp/key)" http://$ADDRESS/metrics | grep -q '^process_start_time_seconds ' && echo "the service runs"
kill $pid
wait $pid && echo "the service stops"
echo '# changed by the operator' >> /etc/varve/varve.yaml
$REMOVE
test ! -e /usr/bin/varve && echo "the program is removed"
test -s /var/lib/varve/data/VARVE && echo "the data stays"
getent passwd varve >/dev/null && echo "the owner of the data stays"
`

var lifeSteps = []string{
	"the program is installed", "varve ", "the user exists", "the man pages are installed", "the dashboards are installed", "bash completes varve",
	"the configuration is good", "the folder is private", "the service takes keys", "the service runs", "the service stops", "the program is removed", "the data stays", "the owner of the data stays",
}

// checkLife runs the script life with the given commands, and then the script "after". It fails the
// test unless all steps succeed.
func checkLife(t *testing.T, install, remove, after string, files ...string) {
	t.Helper()
	// setpriv replaces itself with the program, so the program gets signals. runuser does not pass them
	// on.
	start := strings.Replace(execStart(t), "/usr/bin/varve", "setpriv --reuid=varve --regid=varve --clear-groups /usr/bin/varve", 1)
	address := freeAddress(t)
	script := strings.NewReplacer("$INSTALL", install, "$REMOVE", remove, "$START", "VARVE_SERVER_LISTEN="+address+" "+start, "$ADDRESS", address).Replace(life)
	out := inSystem(t, script+after, files...)
	for _, step := range lifeSteps {
		if !strings.Contains(out, step) {
			t.Errorf("not reached: %s\n%s", step, out)
		}
	}
}

// execStart returns the command that the systemd unit runs.
func execStart(t *testing.T) string {
	t.Helper()
	unit, err := os.ReadFile(filepath.Join(root, "packaging/systemd/varve.service"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(unit), "\nExecStart=")
	if !ok {
		t.Fatal("the unit has no ExecStart")
	}
	command, _, _ := strings.Cut(rest, "\n")
	return command
}

// TestDeb_LeavesDataOnRemoval installs, removes and purges the deb. The data must stay. The changed
// configuration must stay until the purge.
func TestDeb_LeavesDataOnRemoval(t *testing.T) {
	checkLife(t, "dpkg --install /tmp/varve_*.deb", "dpkg --remove varve", `
grep -q 'changed by the operator' /etc/varve/varve.yaml
dpkg --purge varve
test ! -e /etc/varve/varve.yaml
test -s /var/lib/varve/data/VARVE
`, find(t, "varve_*_"+runtime.GOARCH+".deb"))
}

// TestRPM_LeavesDataOnRemoval installs and removes the rpm. The data and the changed configuration must stay.
func TestRPM_LeavesDataOnRemoval(t *testing.T) {
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skipf("this system has no rpm: %v", err)
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	checkLife(t, "rpm --install --nodeps --ignoreos /tmp/varve-*.rpm", "rpm --erase varve", `
grep -q 'changed by the operator' /etc/varve/varve.yaml.rpmsave
`, find(t, "varve-[0-9]*."+machine+".rpm"))
}

// agentLife is a script that installs the package of the agent, uses it, and removes it.
const agentLife = `
$INSTALL
varve-agent config check --config /etc/varve-agent/agent.yaml | grep -q 'is good' && echo "the configuration is good"
test "$(stat -c %U:%a /var/lib/varve-agent)" = varve-agent:700 && echo "the folder is private"
sed -i 's|https://varve.example.com|http://127.0.0.1:9|' /etc/varve-agent/agent.yaml
setpriv --reuid=varve-agent --regid=varve-agent --clear-groups varve-agent --config /etc/varve-agent/agent.yaml --listen $ADDRESS &
pid=$!
for i in $(seq 600); do
	! curl -sf http://$ADDRESS/readyz >/dev/null || break
	sleep 0.1
done
curl -sf -H 'Content-Type: application/json' -d '{"device":"d1","time":"2026-11-20T12:00:00Z","fields":{"v":1}}' \
	http://$ADDRESS/v1/streams/weather/readings | grep -q '"queued":1' && echo "the agent takes readings"
kill $pid
wait $pid && echo "the agent stops"
$REMOVE
test ! -e /usr/bin/varve-agent && echo "the program is removed"
test -n "$(ls /var/lib/varve-agent)" && echo "the readings stay"
getent passwd varve-agent >/dev/null && echo "the owner of the readings stays"
`

// checkAgentLife runs the script agentLife with the given commands, and then the script "after".
func checkAgentLife(t *testing.T, install, remove, after string, files ...string) {
	t.Helper()
	script := strings.NewReplacer("$INSTALL", install, "$REMOVE", remove, "$ADDRESS", freeAddress(t)).Replace(agentLife)
	out := inSystem(t, script+after, files...)
	for _, step := range []string{
		"the configuration is good", "the folder is private", "the agent takes readings", "the agent stops", "the program is removed", "the readings stay", "the owner of the readings stays",
	} {
		if !strings.Contains(out, step) {
			t.Errorf("not reached: %s\n%s", step, out)
		}
	}
}

// TestAgentDeb_LeavesReadingsOnRemoval installs, removes and purges the deb of the agent. The readings must
// stay. The configuration must stay until the purge.
func TestAgentDeb_LeavesReadingsOnRemoval(t *testing.T) {
	checkAgentLife(t, "dpkg --install /tmp/varve-agent_*.deb", "dpkg --remove varve-agent", `
test -e /etc/varve-agent/agent.yaml
dpkg --purge varve-agent
test ! -e /etc/varve-agent/agent.yaml
test -n "$(ls /var/lib/varve-agent)"
`, find(t, "varve-agent_*_"+runtime.GOARCH+".deb"))
}

// TestAgentRPM_LeavesReadingsOnRemoval installs and removes the rpm of the agent. The readings must stay.
func TestAgentRPM_LeavesReadingsOnRemoval(t *testing.T) {
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skipf("this system has no rpm: %v", err)
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	checkAgentLife(t, "rpm --install --nodeps --ignoreos /tmp/varve-agent-*.rpm", "rpm --erase varve-agent", "", find(t, "varve-agent-[0-9]*."+machine+".rpm"))
}

// TestUnit_IsConfined checks the units with systemd-analyze. It must find no mistake, and an exposure
// level below 2.0. The level of a unit without protection is almost 10.
func TestUnit_IsConfined(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skipf("this system has no systemd-analyze: %v", err)
	}
	for _, name := range []string{"varve", "varve-agent"} {
		out := inSystem(t, `
dpkg --install /tmp/`+name+`_*.deb >/dev/null
cd /usr/lib/systemd/system
systemd-analyze verify --man=no ./`+name+`.service && echo verified
systemd-analyze security --offline=true --threshold=20 ./`+name+`.service | tail -1
`, find(t, name+"_*_"+runtime.GOARCH+".deb"))
		if !strings.HasPrefix(out, "verified\n") || !strings.Contains(out, "Overall exposure level for "+name+".service: 1.") {
			t.Errorf("systemd found something in %s:\n%s", name, out)
		}
	}
}

// TestUnit_RestartsAfterCrash checks lines of the units. Exit code 2 means a mistake in the
// configuration, and prevents a restart. With GOTRACEBACK=crash, a crash ends with a signal instead of
// this code. A crash must leave no core file, which would have readings.
func TestUnit_RestartsAfterCrash(t *testing.T) {
	for _, name := range []string{"varve.service", "varve-agent.service"} {
		unit, err := os.ReadFile(filepath.Join(root, "packaging/systemd", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"Restart=on-failure", "RestartPreventExitStatus=2", "Environment=GOTRACEBACK=crash", "LimitCORE=0"} {
			if !strings.Contains(string(unit), "\n"+line+"\n") {
				t.Errorf("%s has no line %s", name, line)
			}
		}
	}
}
