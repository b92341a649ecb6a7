#!/usr/bin/env node
/** Starts the command line; in words that an old Node can read, so that it can say what is wrong. */
'use strict'

var wanted = require('../package.json').engines.node.replace('>=', '').split('.').map(Number)
var found = process.versions.node.split('.').map(Number)
var isOld = found[0] < wanted[0] || (found[0] === wanted[0] && found[1] < wanted[1])

if (isOld) {
  process.stderr.write(
    `Postrider needs Node.js ${wanted.join('.')} or later; this is ${found.join('.')}.\n` +
      'Install a newer one, or use the container image or the Debian package, which have their own.\n',
  )
  process.exitCode = 1
} else {
  void import('../lib/cli-main.js')
}
