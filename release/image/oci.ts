/**
 * Writes an image as one archive: an OCI image layout. It also has `manifest.json`, by which `docker load`
 * finds an image.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { digestOf, type Layer } from './layer.ts'

export interface Image {
  /** `name:tag` */
  readonly name: string
  /** As OCI names it. */
  readonly architecture: string
  readonly created: string
  /** What a container of it runs, and how. */
  readonly config: object
  /** From the bottom up, each with what it is. */
  readonly layers: readonly { readonly what: string; readonly layer: Layer }[]
}

const TYPE = 'application/vnd.oci.image'

/** @returns the digest of the image: of its manifest */
export function writeImage(image: Image, path: string): string {
  const { name, architecture, created, config, layers } = image
  const work = mkdtempSync(join(tmpdir(), 'postrider-oci-'))
  const write = (file: string, content: Uint8Array | object): void => {
    mkdirSync(dirname(join(work, file)), { recursive: true })
    writeFileSync(join(work, file), content instanceof Uint8Array ? content : toBytes(content))
  }
  const keep = (mediaType: string, bytes: Uint8Array) => {
    const digest = digestOf(bytes)
    write(blob(digest), bytes)
    return { mediaType, digest, size: bytes.length }
  }
  try {
    const ofConfig = keep(
      `${TYPE}.config.v1+json`,
      toBytes({
        ...{ created, architecture, os: 'linux', config },
        rootfs: { type: 'layers', diff_ids: layers.map(({ layer }) => layer.diffId) },
        history: layers.map(({ what }) => ({ created, created_by: what })),
      }),
    )
    const manifest = {
      ...{ schemaVersion: 2, mediaType: `${TYPE}.manifest.v1+json`, config: ofConfig },
      layers: layers.map(({ layer }) => keep(`${TYPE}.layer.v1.tar+zstd`, layer.bytes)),
    }
    const entry = keep(manifest.mediaType, toBytes(manifest))
    write('oci-layout', { imageLayoutVersion: '1.0.0' })
    write('index.json', {
      ...{ schemaVersion: 2, mediaType: `${TYPE}.index.v1+json` },
      manifests: [
        {
          ...entry,
          platform: { architecture, os: 'linux' },
          annotations: {
            'org.opencontainers.image.ref.name': name.replace(/^.*:/, ''),
            // Podman and containerd name the image so. Without it, Podman takes the tag for the name.
            'io.containerd.image.name': `docker.io/library/${name}`,
          },
        },
      ],
    })
    write('manifest.json', [
      {
        Config: blob(ofConfig.digest),
        RepoTags: [name],
        Layers: layers.map(({ layer }) => blob(layer.digest)),
      },
    ])
    mkdirSync(dirname(path), { recursive: true })
    execFileSync('tar', [
      ...['--create', '--file', path, '--directory', work, '--sort=name', '--format=gnu'],
      ...['--numeric-owner', '--owner=0', '--group=0', '--mode=u=rwX,go=rX', '--mtime=@0'],
      ...['blobs', 'index.json', 'manifest.json', 'oci-layout'],
    ])
    return entry.digest
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function blob(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`
}

function toBytes(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}
