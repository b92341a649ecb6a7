/**
 * Installs the packed packages once for a run of tests, as their users do, but without install scripts: into a
 * folder outside of this repository, whose packages they must not see. The tests then start the installed
 * service (`programs` of the testkit).
 */
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { buildPackages } from '../npm/build-packages.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder of a project that has installed them, and the oldest Node.js that they run on. */
    packed: { readonly project: string; readonly oldestNode: string }
  }
}

const OLDEST_NODE = '22.19.0'

export async function setup(test: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-packed-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    // Other users start it, too.
    chmodSync(folder, 0o755)
    const { postrider, client, testkit } = await buildPackages(join(folder, 'dist'))
    const project = join(folder, 'project')
    await install(project, [postrider.path, client.path, testkit.path])
    const node = `node-${process.platform}-${process.arch}`
    const oldest = join(folder, 'oldest-node')
    await install(oldest, [`${node}@${OLDEST_NODE}`])
    test.provide('packed', {
      project,
      oldestNode: join(oldest, 'node_modules', node, 'bin/node'),
    })
    // Read by the processes of the tests, which begin after this.
    process.env.INSTALLED_POSTRIDER = join(project, 'node_modules/postrider')
    return remove
  } catch (error) {
    remove()
    throw error
  }
}

async function install(project: string, packages: readonly string[]): Promise<void> {
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  await promisify(execFile)('npm', ['install', ...options, ...packages], { cwd: project })
}
