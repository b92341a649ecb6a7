import { expect, it } from 'vitest'
import { readPackageJson } from './npm/project.ts'
import { filesWith, read, withVersion } from './set-version.ts'

it('every file that names the version names the same one', () => {
  const files = filesWith(readPackageJson('.').version)
  expect(files.size).toBeGreaterThan(10)
  const others = [...files].filter(([file, text]) => read(file) !== text)
  expect(others.map(([file]) => file)).toEqual([])
})

it('another version changes every one of these files', () => {
  const same = [...filesWith('99.0.0-rc.9')].filter(
    ([file, text]) => read(file) === text || !text.includes('99.0.0-rc.9'),
  )
  expect(same.map(([file]) => file)).toEqual([])
})

it('a version is that of the package and of our packages that it depends on', () => {
  const manifest = {
    name: 'a',
    version: '1.0.0',
    dependencies: { '@postrider/mail': '1.0.0', pg: '1.0.0' },
    devDependencies: { '@postrider/testkit': '1.0.0' },
  }
  expect(withVersion(manifest, '2.0.0')).toEqual({
    name: 'a',
    version: '2.0.0',
    dependencies: { '@postrider/mail': '2.0.0', pg: '1.0.0' },
    devDependencies: { '@postrider/testkit': '2.0.0' },
  })
})
