/**
 * Bundles the service: its own packages, and those of others that they import, become a few modules of JavaScript
 * in one folder. Loading a thousand small files takes twice the time and more memory.
 *
 * A module that names a file beside itself by `new URL('…', import.meta.url)` is elsewhere in the bundle.
 * Where the file is a module, it becomes an entry of the bundle: so do threads. All other files are in the
 * table `files`, by which they are copied, too. A file that is in neither fails the build.
 */
import { isBuiltin } from 'node:module'
import { posix, relative } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { root } from './project.ts'

export interface Bundle {
  /** Modules by their name in the folder. */
  readonly modules: ReadonlyMap<string, string>
  /** The packages of others that are in them: their folders, from the root of the repository. */
  readonly contained: readonly string[]
}

interface BundleOptions {
  /** From the root of the repository. */
  readonly entry: string
  /** Where a file or folder of the repository is, as seen from the bundle's folder. */
  readonly files: ReadonlyMap<string, string>
}

const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/
const NAMED_FILE = /new URL\(\s*'([^']+)',\s*import\.meta\.url,?\s*\)/g

export async function bundleService({ entry, files }: BundleOptions): Promise<Bundle> {
  const build = await rolldown({
    cwd: root,
    input: { [nameOf(entry)]: entry },
    platform: 'node',
    plugins: [followNamedFiles(files), takeBuiltins()],
    onLog: (_level, log) => {
      throw new Error(log.message)
    },
  })
  const { output } = await build.generate({
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: false,
    // A source with one character beyond Latin-1 takes two bytes for each, as long as the process lives.
    minify: {
      ...{ compress: false, mangle: false },
      codegen: { removeWhitespace: false, asciiOnly: true },
    },
  })
  await build.close()
  const chunks = output.filter((one) => one.type === 'chunk')
  const sources = chunks.flatMap((one) => one.moduleIds).map((id) => relative(root, id))
  return {
    modules: new Map(chunks.map((one) => [one.fileName, one.code])),
    contained: [...new Set(sources.flatMap((path) => PACKAGE.exec(path) ?? []))].sort(),
  }
}

function followNamedFiles(files: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'follow-named-files',
    transform(code, id) {
      const module = new URL(relative(root, id), 'file:///')
      return code.replaceAll(NAMED_FILE, (_whole, named: string) => {
        const path = new URL(named, module).pathname.slice(1)
        const place = files.get(path) ?? `./${nameOf(path)}.js`
        if (!files.has(path)) {
          if (!path.endsWith('.ts'))
            throw new Error(`${id} names ${path}: where is it in the package?`)
          const fileName = posix.basename(place)
          this.emitFile({ type: 'chunk', id: `${root}${path}`, fileName })
        }
        return `new URL('${place}', import.meta.url)`
      })
    },
  }
}

/** An import of Node's `http` as a module reads all that it exports, and so loads all of its `fetch`. */
function takeBuiltins(): Plugin {
  const mark = '\0builtin:'
  return {
    name: 'take-builtins',
    // The bundler's own module imports that one.
    resolveId: (id) => (isBuiltin(id) && id !== 'node:module' ? mark + id : null),
    load: (id) =>
      id.startsWith(mark)
        ? `module.exports = process.getBuiltinModule(${JSON.stringify(id.slice(mark.length))})`
        : null,
  }
}

function nameOf(path: string): string {
  return posix.basename(path, '.ts')
}
