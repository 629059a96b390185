// Finds the types and options in the signatures of entry points.

import { dirname } from 'node:path'
import ts from 'typescript'

const OPTIONS = { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, skipLibCheck: true, types: [] }

/**
 * @param {string[]} files  the declarations of all entry points
 * @param {string} root  the folder of all declarations of the package
 * @returns {string[]} types of the package that signatures mention but that cannot be imported, and where they are
 *   mentioned. A type whose file is below the folder of the entry point must be an export of it, any other type an
 *   export of any entry point. Constructors are left out: their arguments come from the package itself
 */
export function unnamedTypes (files, root) {
  const program = ts.createProgram(files, OPTIONS)
  const checker = program.getTypeChecker()
  const exportsOf = file => checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))
  const all = new Set(files.flatMap(exportsOf).map(({ name }) => name))
  return files.flatMap(file => unnamedIn(file, { all, checker, exported: exportsOf(file), root }))
}

function unnamedIn (file, { all, checker, exported, root }) {
  const resolved = symbol => symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const isIn = (symbol, folder) =>
    symbol?.declarations?.some(declaration => declaration.getSourceFile().fileName.startsWith(`${folder}/`))
  const names = new Set(exported.map(({ name }) => name))
  const unnamed = []
  // The loop adds types that a type mentions; a set also iterates over items that are added during the iteration.
  const symbols = new Set(exported.map(resolved))
  for (const symbol of symbols) {
    const look = node => {
      if (ts.isConstructorDeclaration(node)) return
      const type = mentioned(node)
      if (isIn(type, root) && !(type.flags & ts.SymbolFlags.TypeParameter)) {
        if (names.has(type.name)) symbols.add(type)
        else if (isIn(type, dirname(file)) || !all.has(type.name)) unnamed.push(`${type.name}, of ${symbol.name}`)
      }
      ts.forEachChild(node, look)
    }
    symbol.declarations.forEach(look)
  }
  return [...new Set(unnamed)]

  function mentioned (node) {
    const name = ts.isTypeReferenceNode(node) ? node.typeName : ts.isImportTypeNode(node) ? node.qualifier : undefined
    return name && resolved(checker.getSymbolAtLocation(ts.isQualifiedName(name) ? name.right : name))
  }
}

/**
 * @param {string[]} files  the declarations of all entry points
 * @returns {string[]} functions and methods whose comment editors cannot show: `BlobStore.put`, ...
 */
export function undocumentedCalls (files) {
  const program = ts.createProgram(files, OPTIONS)
  const checker = program.getTypeChecker()
  const isBare = symbol => ts.displayPartsToString(symbol.getDocumentationComment(checker)) === ''
  const methodsOf = ({ name, members, exports }) => [...members?.values() ?? [], ...exports.values()]
    .filter(member => member.flags & ts.SymbolFlags.Method && isBare(member)).map(method => `${name}.${method.name}`)
  const callsIn = symbol => symbol.flags & ts.SymbolFlags.Class
    ? methodsOf(symbol)
    : symbol.flags & ts.SymbolFlags.Function && isBare(symbol) ? [symbol.name] : []
  return files.flatMap(file => checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file))))
    .map(symbol => symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol)
    .flatMap(callsIn)
}

/** Names of parameters that hold options, or values that are passed like options. */
const OPTIONS_PARAMETERS = ['options', 'info', 'parts']

/**
 * Finds the options that entry points take.
 *
 * @param {string[]} files  the sources of entry points
 * @param {string} root  the folder of the package
 * @returns {Map<string, Map<string, string[]>>} by the option's name, then by its type: the calls that take it, such as
 *   `hashStream`, `blobStore.put`, `BlobStore.open` or `new Walk`
 */
export function optionsOf (files, root) {
  const program = ts.createProgram(files, { ...OPTIONS, allowJs: true, noEmit: true, strict: true, types: ['node'] })
  const checker = program.getTypeChecker()
  const found = new Map()
  const seen = new Set()
  const isOurs = symbol => symbol.declarations?.some(declaration => {
    const { fileName } = declaration.getSourceFile()
    return fileName.startsWith(root) && !fileName.includes('node_modules')
  })
  const isClass = symbol => symbol !== undefined && (symbol.flags & ts.SymbolFlags.Class) !== 0 && isOurs(symbol)

  for (const file of files) {
    for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))) {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported
      if (symbol.valueDeclaration === undefined) continue
      if (isClass(symbol)) lookAtClass(symbol)
      else lookAt(symbol.name, checker.getTypeOfSymbol(symbol).getCallSignatures())
    }
  }
  return found

  function lookAtClass (symbol) {
    if (seen.has(symbol)) return
    seen.add(symbol)
    const type = checker.getTypeOfSymbol(symbol)
    lookAt(`new ${symbol.name}`, type.getConstructSignatures())
    lookAtMembers(symbol.name, type)
    lookAtMembers(symbol.name[0].toLowerCase() + symbol.name.slice(1), checker.getDeclaredTypeOfSymbol(symbol))
  }

  function lookAtMembers (name, type) {
    for (const member of checker.getPropertiesOfType(type).filter(isOurs)) {
      if (member.name === 'prototype' || /^(#|__#)/.test(member.name)) continue
      const memberType = checker.getTypeOfSymbol(member)
      if (isClass(memberType.symbol)) lookAtClass(memberType.symbol)
      lookAt(`${name}.${member.name}`, memberType.getCallSignatures())
    }
  }

  function lookAt (call, signatures) {
    for (const signature of signatures) {
      for (const parameter of signature.getParameters()) {
        if (OPTIONS_PARAMETERS.includes(parameter.name)) addOptions(call, checker.getTypeOfSymbol(parameter))
      }
      const result = checker.getReturnTypeOfSignature(signature)
      const results = [result, ...checker.getTypeArguments(result)].map(type => type.symbol)
      for (const symbol of results.filter(isClass)) lookAtClass(symbol)
    }
  }

  function addOptions (call, type) {
    for (const option of checker.getPropertiesOfType(checker.getNonNullableType(type))) {
      const optionType = checker.getNonNullableType(checker.getTypeOfSymbol(option))
      const text = checker.typeToString(optionType, undefined, ts.TypeFormatFlags.NoTruncation)
      const types = found.get(option.name) ?? new Map()
      found.set(option.name, types.set(text, [...new Set([...types.get(text) ?? [], call])]))
    }
  }
}
