/** The programs of a tutorial: blocks of code whose first line names their file. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const tutorials = new URL('../../docs/tutorials/', import.meta.url)

/** Contents by the names of the files. */
export function filesOfTutorial(name: string): Map<string, string> {
  const page = readFileSync(new URL(`${name}.md`, tutorials), 'utf8')
  return filesOfPage(page)
}

export function filesOfPage(page: string): Map<string, string> {
  const blocks = page.matchAll(/^```\w+\n((?:<\?php )?(?:\/\/|#) ([\w./-]+\.\w+)\n[\s\S]*?)^```$/gm)
  return new Map([...blocks].map(([, code = '', file = '']) => [file, code]))
}

/** Into a folder; each file where its name says. */
export function writeFiles(folder: string, files: ReadonlyMap<string, string>): void {
  for (const [name, code] of files) {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, code)
  }
}
