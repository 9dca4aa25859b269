// SPDX-FileCopyrightText: kvmeter contributors
// SPDX-License-Identifier: Apache-2.0
// Nothing: the target that owns the precompiled header needs a source.
