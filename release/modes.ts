/** Modes of files that are released do not depend on the umask of who builds, or of who cloned. */
import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

export function unifyModes(dir: string): void {
  chmodSync(dir, 0o755)
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) unifyModes(path)
    else if (entry.isFile()) chmodSync(path, statSync(path).mode & 0o100 ? 0o755 : 0o644)
  }
}
